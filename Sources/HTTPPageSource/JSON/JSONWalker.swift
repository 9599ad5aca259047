/// Steps from value to value through a checked text, and over long values by their marks.
struct JSONWalker {
    let text: JSONBytes
    private let marks: UnsafeBufferPointer<JSONMark>
    /// The index of the first mark that may lie ahead.
    private var upcoming: Int

    /// Starts at the content of `container`.
    init(_ text: JSONBytes, _ marks: UnsafeBufferPointer<JSONMark>, inside container: JSONValue) {
        self.text = text
        self.marks = marks
        // Finds the first mark after the start of the container.
        var (low, high) = (0, marks.count)
        while low < high {
            let middle = (low + high) / 2
            if marks[middle].start <= container.start { low = middle + 1 } else { high = middle }
        }
        upcoming = low
    }

    /// The end of the value at `start`. Values must be passed in order, without leaving one out.
    mutating func skip(_ start: Int) -> Int {
        switch text[start] {
        case UInt8(ascii: "\""):
            return text.skipString(start)
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            guard upcoming < marks.count, marks[upcoming].start == start else { return text.skipValue(start) }
            defer { upcoming = marks[upcoming].next }
            return marks[upcoming].end
        default:
            return text.skipValue(start)
        }
    }
}
