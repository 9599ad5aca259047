/// Reads bytes that are believed in nothing, and says whether they are one JSON value (RFC 8259) in UTF-8 (RFC 3629).
///
/// It is iterative, so that hostile nesting does not use up the stack, and it looks at each byte once. On its way it
/// notes where long arrays and objects end, so that whoever walks the text afterwards need not look for that again.
struct JSONChecker {
    /// Shorter arrays and objects are not noted: to step over them again costs less.
    static let shortestMark = 64
    /// Nor are those that lie deeper than items and what stands right inside of them.
    static let deepestMark = 5
    /// Nor those behind so many others. A hostile text must not make us keep more than about a megabyte and a half
    /// (R43).
    static let mostMarks = 1 << 16

    private let text: JSONBytes
    private let depthLimit: Int
    private var open: [Open] = []
    private(set) var marks: [JSONMark] = []

    /// An array or object that has not ended yet.
    private struct Open {
        var isObject: Bool
        /// Its mark; -1 when it has none.
        var mark: Int
    }

    /// - Parameter depthLimit: how deep arrays and objects may nest (R43).
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
                // Two further in the alphabet is the bracket that closes.
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
            // A value ended here: close what it closes, and find where the next one begins.
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
            // What lies inside is shorter still, and gone already: this is the last one.
            marks.removeLast()
        } else {
            marks[ended.mark].end = position
            marks[ended.mark].next = marks.count
        }
    }
}

/// Where a long array or object ends. Marks are in the order in which their values start.
struct JSONMark: Sendable {
    var start: Int
    var end: Int
    /// The mark behind those that lie inside of this one.
    var next: Int
}
