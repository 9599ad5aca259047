/// Checks whether untrusted bytes are one JSON value (RFC 8259) in UTF-8 (RFC 3629).
///
/// The check is iterative, so that hostile nesting cannot exhaust the stack, and takes a single pass. It also notes the
/// ends of long arrays and objects, so that later walks can step over them.
struct JSONChecker {
    /// The fewest bytes of an array or object with a mark. Walking through a shorter one costs less than a mark.
    static let shortestMark = 64
    /// The number of nesting levels with marks. Items, and the values directly inside them, usually lie within these
    /// levels.
    static let deepestMark = 5
    /// The largest number of marks. A hostile text must not occupy more than about 1.5 MiB for marks (R43).
    static let mostMarks = 1 << 16

    private let text: JSONBytes
    private let depthLimit: Int
    private(set) var marks: [JSONMark] = []

    /// - Parameter depthLimit: the deepest nesting of arrays and objects (R43).
    init(_ text: JSONBytes, depthLimit: Int) {
        self.text = text
        self.depthLimit = depthLimit
    }

    /// Checks the value that starts at `start`, and returns its end.
    mutating func check(_ start: Int) throws(JSONError) -> Int {
        // Local values stay in registers.
        let text = text, depthLimit = depthLimit
        var open = OpenContainers(), noted = Marks(capacity: text.count / 256 + 4)
        var position = start
        while true {
            // A value begins here.
            guard position < text.count else { throw .malformed(at: position) }
            let first = text[position]
            switch first {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                guard open.depth < depthLimit else { throw .tooDeep }
                let isObject = first == UInt8(ascii: "{")
                let inside = text.skipSpace(position &+ 1)
                // The closing bracket is two code points above the opening one.
                if inside < text.count, text[inside] == first &+ 2 {
                    position = inside &+ 1
                    break
                }
                open.push(
                    isObject, isMarked: open.depth < JSONChecker.deepestMark && noted.begin(at: position))
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
                guard open.depth > 0 else {
                    marks = noted.all
                    return position
                }
                position = text.skipSpace(position)
                guard position < text.count else { throw .malformed(at: position) }
                let byte = text[position]
                position &+= 1
                if byte == UInt8(ascii: ",") {
                    position = text.skipSpace(position)
                    if open.isObject { position = try text.checkName(position) }
                    break
                }
                let closer = open.isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")
                guard byte == closer else { throw .malformed(at: position - 1) }
                if open.pop() { noted.end(at: position) }
            }
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

/// The marks of a check under way.
private struct Marks {
    private(set) var all: [JSONMark] = []
    /// The index of the innermost mark whose value has not ended. -1 without one.
    private var innermost = -1

    init(capacity: Int) { all.reserveCapacity(min(capacity, JSONChecker.mostMarks)) }

    /// Adds a mark for the value at `position`. Returns false when there is no room for one.
    @inline(__always)
    mutating func begin(at position: Int) -> Bool {
        guard all.count < JSONChecker.mostMarks else { return false }
        // Until its value ends, a mark holds the index of the mark around it.
        all.append(JSONMark(start: position, end: position, next: innermost))
        innermost = all.count - 1
        return true
    }

    /// Ends the innermost mark.
    @inline(__always)
    mutating func end(at position: Int) {
        let ended = innermost
        innermost = all[ended].next
        if position - all[ended].start < JSONChecker.shortestMark {
            // Values inside this one are shorter still, and their marks are removed already. This mark is the last one.
            all.removeLast()
        } else {
            all[ended].end = position
            all[ended].next = all.count
        }
    }
}
