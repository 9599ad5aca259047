/// Checks whether untrusted bytes are one JSON value (RFC 8259) in UTF-8 (RFC 3629).
///
/// The check is iterative, so that hostile nesting cannot exhaust the stack, and it reads each byte once. It also notes
/// the ends of long arrays and objects, so that later walks can step over them.
struct JSONChecker {
    /// The fewest bytes of an array or object with a mark. Walking through a shorter one costs less.
    static let shortestMark = 64
    /// The number of nesting levels with marks. Items, and the values directly inside them, lie within it.
    static let deepestMark = 5
    /// The largest number of marks. A hostile text must not occupy more than about 1.5 MiB for marks (R43).
    static let mostMarks = 1 << 16

    private let text: JSONBytes
    private let depthLimit: Int
    private var open: [Open] = []
    private(set) var marks: [JSONMark] = []

    /// An array or object that has not ended yet.
    private struct Open {
        var isObject: Bool
        /// The index of its mark. -1 means it has none.
        var mark: Int
    }

    /// - Parameter depthLimit: the deepest nesting of arrays and objects (R43).
    init(_ text: JSONBytes, depthLimit: Int) {
        self.text = text
        self.depthLimit = depthLimit
    }

    /// The end of the value that starts at `start`.
    mutating func check(_ start: Int) throws(JSONError) -> Int {
        var position = start
        while true {
            // A value begins here.
            guard position < text.count else { throw .malformed(at: position) }
            let first = text[position]
            switch first {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                guard open.count < depthLimit else { throw .tooDeep }
                let isObject = first == UInt8(ascii: "{")
                let inside = text.skipSpace(position + 1)
                // The closing bracket is two code points above the opening one.
                if inside < text.count, text[inside] == first + 2 {
                    position = inside + 1
                    break
                }
                begin(isObject, at: position)
                position = isObject ? try text.checkName(inside) : inside
                continue
            case UInt8(ascii: "\""): position = try text.checkString(position)
            case UInt8(ascii: "t"): position = try text.checkWord("true", position)
            case UInt8(ascii: "f"): position = try text.checkWord("false", position)
            case UInt8(ascii: "n"): position = try text.checkWord("null", position)
            default: position = try text.checkNumber(position)
            }
            // A value ended here. Close the containers that end with it, and find the start of the next value.
            while true {
                guard let innermost = open.last else { return position }
                position = text.skipSpace(position)
                guard position < text.count else { throw .malformed(at: position) }
                let byte = text[position]
                position += 1
                if byte == UInt8(ascii: ",") {
                    position = text.skipSpace(position)
                    if innermost.isObject { position = try text.checkName(position) }
                    break
                }
                let closer = innermost.isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")
                guard byte == closer else { throw .malformed(at: position - 1) }
                end(innermost, at: position)
            }
        }
    }

    private mutating func begin(_ isObject: Bool, at position: Int) {
        var mark = -1
        if open.count < JSONChecker.deepestMark, marks.count < JSONChecker.mostMarks {
            mark = marks.count
            marks.append(JSONMark(start: position, end: position, next: mark))
        }
        open.append(Open(isObject: isObject, mark: mark))
    }

    private mutating func end(_ ended: Open, at position: Int) {
        open.removeLast()
        guard ended.mark >= 0 else { return }
        if position - marks[ended.mark].start < JSONChecker.shortestMark {
            // Values inside this one are shorter still, and their marks are removed already. This mark is the last one.
            marks.removeLast()
        } else {
            marks[ended.mark].end = position
            marks[ended.mark].next = marks.count
        }
    }
}

/// The end of a long array or object. Marks are in the order in which their values start.
struct JSONMark: Sendable {
    var start: Int
    var end: Int
    /// The index of the first mark after this value and all values inside it.
    var next: Int
}
