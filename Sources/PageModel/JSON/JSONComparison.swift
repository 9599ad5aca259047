/// Compares two payloads as JSON. White space and the order of members do not count. Strings are compared by their
/// text, and numbers by their spelling: `1` is not `1.0`.
///
/// If a member's name repeats, its values are compared in their order.
package enum JSONComparison {
    /// The most members of an object. Larger objects count as different.
    private static let mostMembers = 1 << 16

    /// Whether both payloads are arrays, objects or strings, and equal. Returns false for payloads that are not JSON,
    /// that nest deeper than 64 levels, or that contain an object with more than 65,536 members.
    package static func areEqual(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
        guard let first = JSONDigest.hash(of: one), let second = JSONDigest.hash(of: other), first == second else {
            return false
        }
        let (left, right) = (JSONScanner(bytes: one), JSONScanner(bytes: other))
        return areEqual(left, left.space(0), right, right.space(0), JSONDigest.depth) != nil
    }

    /// Returns the ends of two equal values that begin at these positions; `nil` when the values differ.
    private static func areEqual(
        _ left: JSONScanner, _ start: Int, _ right: JSONScanner, _ otherStart: Int, _ levels: Int
    ) -> (Int, Int)? {
        guard start < left.bytes.count, otherStart < right.bytes.count,
            left.bytes[start] == right.bytes[otherStart]
        else { return nil }
        switch left.bytes[start] {
        case UInt8(ascii: "{"):
            return levels > 0 ? areEqualObjects(left, start, right, otherStart, levels - 1) : nil
        case UInt8(ascii: "["):
            return levels > 0 ? areEqualArrays(left, start, right, otherStart, levels - 1) : nil
        case UInt8(ascii: "\""):
            guard let one = left.string(start), let other = right.string(otherStart) else { return nil }
            let (range, otherRange) = (start + 1..<one.end - 1, otherStart + 1..<other.end - 1)
            let isEqual =
                one.hasEscapes || other.hasEscapes
                ? left.text(range) == right.text(otherRange)
                : left.bytes[range].elementsEqual(right.bytes[otherRange])
            return isEqual ? (one.end, other.end) : nil
        default:
            guard let end = JSONDigest(left.bytes).value(start, 0)?.end,
                let otherEnd = JSONDigest(right.bytes).value(otherStart, 0)?.end,
                left.bytes[start..<end].elementsEqual(right.bytes[otherStart..<otherEnd])
            else { return nil }
            return (end, otherEnd)
        }
    }

    private static func areEqualArrays(
        _ left: JSONScanner, _ start: Int, _ right: JSONScanner, _ otherStart: Int, _ levels: Int
    ) -> (Int, Int)? {
        var (position, other) = (left.space(start + 1), right.space(otherStart + 1))
        while position < left.bytes.count, other < right.bytes.count {
            let closes = left.bytes[position] == UInt8(ascii: "]")
            guard closes == (right.bytes[other] == UInt8(ascii: "]")) else { return nil }
            if closes { return (position + 1, other + 1) }
            guard let ends = areEqual(left, position, right, other, levels) else { return nil }
            (position, other) = (left.behindComma(ends.0), right.behindComma(ends.1))
        }
        return nil
    }

    private static func areEqualObjects(
        _ left: JSONScanner, _ start: Int, _ right: JSONScanner, _ otherStart: Int, _ levels: Int
    ) -> (Int, Int)? {
        guard let one = left.members(start, levels, atMost: mostMembers),
            let other = right.members(otherStart, levels, atMost: mostMembers), one.list.count == other.list.count
        else { return nil }
        for (mine, theirs) in zip(one.list, other.list) {
            guard mine.name == theirs.name, mine.hash == theirs.hash,
                areEqual(left, mine.value, right, theirs.value, levels) != nil
            else { return nil }
        }
        return (one.end, other.end)
    }
}

extension JSONScanner {
    fileprivate struct Member {
        var name: [UInt8]
        /// The position where its value begins.
        var value: Int
        var hash: UInt64
    }

    /// Returns the position of the next element, or of the closing bracket, after a value that ends at `end`.
    fileprivate func behindComma(_ end: Int) -> Int {
        let position = space(end)
        return position < bytes.count && bytes[position] == UInt8(ascii: ",") ? space(position + 1) : position
    }

    /// Returns the members of the object at `start`, sorted by name. Members of one name keep their order. Returns
    /// `nil` when there are more than `limit`.
    fileprivate func members(_ start: Int, _ levels: Int, atMost limit: Int) -> (list: [Member], end: Int)? {
        var list: [Member] = []
        var position = space(start + 1)
        while position < bytes.count, bytes[position] != UInt8(ascii: "}") {
            guard list.count < limit, let name = string(position) else { return nil }
            let colon = space(name.end)
            let value = space(colon + 1)
            guard colon < bytes.count, let read = JSONDigest(bytes).value(value, levels) else { return nil }
            list.append(Member(name: text(position + 1..<name.end - 1), value: value, hash: read.hash))
            position = behindComma(read.end)
        }
        guard position < bytes.count else { return nil }
        // The position breaks ties, so that repeated names keep their order.
        list.sort { $0.name == $1.name ? $0.value < $1.value : $0.name.lexicographicallyPrecedes($1.name) }
        return (list, position + 1)
    }
}
