/// The held positions of a list: its segments, and the gaps between them (R12).
///
/// A pure value over page ranges, independent of time and storage.
public struct Coverage: Hashable, Sendable {
    /// The segments: maximal contiguous ranges of held positions, ascending and never adjacent.
    public private(set) var segments: [Range<Int>]

    /// The coverage of pages that occupy these ranges, in any order. Empty ranges hold no position.
    public init(_ ranges: some Sequence<Range<Int>>) {
        var segments: [Range<Int>] = []
        var isAscending = true
        for range in ranges where !range.isEmpty {
            // Pages usually arrive in order. Then the array holds few segments, however many pages there are.
            if let last = segments.last, last.lowerBound <= range.lowerBound, last.upperBound >= range.lowerBound {
                segments[segments.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
            } else {
                isAscending = isAscending && segments.last.map { $0.lowerBound <= range.lowerBound } ?? true
                segments.append(range)
            }
        }
        self.segments = isAscending ? segments : Coverage(segments.sorted { $0.lowerBound < $1.lowerBound }).segments
    }

    /// Adds positions, some of which may be held already. A range after the last segment takes constant time.
    package mutating func add(_ range: Range<Int>) {
        guard !range.isEmpty else { return }
        guard let last = segments.last, range.lowerBound <= last.upperBound else { return segments.append(range) }
        if range.lowerBound >= last.lowerBound {
            segments[segments.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
        } else {
            self = Coverage(segments + [range])
        }
    }

    /// Removes positions, some of which may not be held.
    package mutating func remove(_ range: Range<Int>) {
        guard !range.isEmpty, segments.contains(where: { $0.overlaps(range) }) else { return }
        self = Coverage(
            segments.flatMap { segment in
                [
                    segment.lowerBound..<max(segment.lowerBound, min(segment.upperBound, range.lowerBound)),
                    min(segment.upperBound, max(segment.lowerBound, range.upperBound))..<segment.upperBound,
                ]
            })
    }

    /// The number of held positions.
    public var count: Int { segments.reduce(0) { $0 + $1.count } }

    /// The end of the segment that starts at position 0; 0 when position 0 is not held.
    public var headEnd: Int {
        guard let first = segments.first, first.lowerBound == 0 else { return 0 }
        return first.upperBound
    }

    /// The positions below `length` that are not held, ascending. Positions held beyond `length` have no effect.
    public func gaps(below length: Int) -> [Range<Int>] {
        var gaps: [Range<Int>] = []
        var position = 0
        for segment in segments where position < length {
            if segment.lowerBound > position { gaps.append(position..<min(segment.lowerBound, length)) }
            position = max(position, segment.upperBound)
        }
        if position < length { gaps.append(position..<length) }
        return gaps
    }

    /// The parts of `range` that are not held, ascending.
    public func gaps(in range: Range<Int>) -> [Range<Int>] {
        gaps(below: range.upperBound).map { $0.clamped(to: range) }.filter { !$0.isEmpty }
    }
}
