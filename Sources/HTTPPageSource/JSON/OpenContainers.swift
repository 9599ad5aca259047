/// The arrays and objects around a position: one bit for each, in words of 64 levels.
struct OpenContainers {
    private(set) var depth = 0
    /// The kinds of the innermost levels. The lowest bit is 1 in an object.
    private var kinds: UInt64 = 0
    /// The kinds of outer levels, 64 in a word.
    private var outer: [UInt64] = []
    /// One bit for each level that has a mark. Only the outermost levels can have one.
    private var marked: UInt64 = 0

    /// Whether the innermost container is an object.
    @inline(__always)
    var isObject: Bool { kinds & 1 == 1 }

    @inline(__always)
    mutating func push(_ isObject: Bool, isMarked: Bool) {
        if depth & 63 == 0, depth > 0 { outer.append(kinds) }
        kinds = kinds << 1 | (isObject ? 1 : 0)
        if isMarked { marked |= 1 &<< UInt64(depth) }
        depth &+= 1
    }

    /// Leaves the innermost container, and returns whether it has a mark.
    @inline(__always)
    mutating func pop() -> Bool {
        depth &-= 1
        kinds >>= 1
        if depth & 63 == 0, depth > 0 { kinds = outer.removeLast() }
        guard depth < 64, marked &>> UInt64(depth) & 1 == 1 else { return false }
        marked &= ~(1 &<< UInt64(depth))
        return true
    }
}
