/// Steps from value to value through a text that has been checked, and over long ones by their marks.
struct JSONWalker {
    let text: JSONBytes
    private let marks: UnsafeBufferPointer<JSONMark>
    /// The first mark that may not lie in front of us.
    private var upcoming: Int

    /// Stands at the start of what is inside of `container`.
    init(_ text: JSONBytes, _ marks: UnsafeBufferPointer<JSONMark>, inside container: JSONValue) {
        self.text = text
        self.marks = marks
        // The first mark that starts behind the container's own start.
        var (low, high) = (0, marks.count)
        while low < high {
            let middle = (low + high) / 2
            if marks[middle].start <= container.start { low = middle + 1 } else { high = middle }
        }
        upcoming = low
    }

    /// The end of the value at `start`. Values come in order; none may be left out.
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
