import PagedRepository

/// The expected result of synchronising a simulated origin, once several runs have followed its last change and fault.
public struct OriginExpectation: Hashable, Sendable {
    /// The expected final content of the cache.
    public enum Contents: Hashable, Sendable {
        /// The visible items of the origin, in its order.
        case equal
        /// The visible items of the origin, in any order.
        case inAnyOrder
        /// The first visible items of the origin, up to this number.
        case first(Int)
        /// Visible items of the origin, not necessarily all of them.
        case some
    }

    /// The raw values of the accepted `SyncReport.Outcome` cases.
    public var outcomes: Set<String>
    /// The expected content.
    public var contents: Contents
    /// Whether the list may be marked as one whose ids repeat (R25).
    public var mayAllowDuplicates: Bool
    /// The reason why the expectation differs from the outcome `complete` with equal content. Empty if it does not
    /// differ.
    public var reason: String

    /// The expectation for an origin whose whole content can be proven to be held.
    static let complete = OriginExpectation(
        outcomes: ["complete"], contents: .equal, mayAllowDuplicates: false, reason: "")
}

extension OriginPlan {
    /// Returns the expected result of synchronisations, by the kind of the origin.
    /// - Parameters:
    ///   - length: the number of items, including hidden ones.
    ///   - size: the number of items in a page.
    public func expectation(length: Int, size: Int) -> OriginExpectation {
        switch kind {
        case .ordinary: ofOrdinary
        case .miscounted: ofMiscounted(length, size: size)
        case .overlapping, .large, .long, .sizes, .sprouting, .trailing, .replicas, .uncounted,
            .firstContact, .feed, .sweeps, .rewritten, .echoing, .clocks:
            .complete
        case .hidden: ofHidden
        case .window: ofWindow(length, size: size)
        case .endless: ofEndless
        case .shuffled: ofShuffled(isOnePage: length <= size)
        }
    }

    private var ofOrdinary: OriginExpectation {
        if case .tooHigh = totals {
            return OriginExpectation(
                outcomes: ["complete", "limited", "unproven"], contents: .equal,
                mayAllowDuplicates: identity == .repeating,
                reason: "a total that counts a page more than there is looks like a result window, or like a part")
        }
        guard identity == .repeating else { return .complete }
        return OriginExpectation(
            outcomes: ["complete"], contents: .some, mayAllowDuplicates: true,
            reason: "lists whose ids repeat are read, and not compared (R25)")
    }

    private func ofMiscounted(_ length: Int, size: Int) -> OriginExpectation {
        if length == 0 {
            return OriginExpectation(
                outcomes: ["complete", "unproven"], contents: .equal, mayAllowDuplicates: false,
                reason: "an origin that counts items and returns none may hide all of them")
        }
        if isCountedTooLow(length) {
            return OriginExpectation(
                outcomes: ["complete"], contents: .some, mayAllowDuplicates: false,
                reason: "a reached total ends a list whose answers show no item after it (R24)")
        }
        // After a full page, a total that counts another full page looks like a result window. This is so in a chain,
        // too (R24).
        var looksCutOff = false
        if case .tooHigh(let more) = totals { looksCutOff = length > size && length % size == 0 && more >= size }
        guard pastEnd != .emptyPage || access != .chain || looksCutOff else { return .complete }
        return OriginExpectation(
            outcomes: ["complete", "limited", "unproven"], contents: .equal, mayAllowDuplicates: false,
            reason: "below a total that is too high, refused positions look like a window, and one page like a part")
    }

    /// Whether the total counts fewer items than the origin has, and no answer says that more items follow.
    private func isCountedTooLow(_ length: Int) -> Bool {
        guard !saysHasMore, access != .chain else { return false }
        switch totals {
        case .capped(let most): return most < length
        case .tooLow: return true
        case .exact, .lagging, .estimated, .none, .zero, .tooHigh, .jittering: return false
        }
    }

    private var ofHidden: OriginExpectation {
        OriginExpectation(
            outcomes: access == .chain ? ["complete", "limited"] : ["complete", "limited", "unproven"],
            contents: .equal,
            mayAllowDuplicates: false,
            reason: "hidden items at the end look like a result window, and nothing says how many there are")
    }

    private func ofWindow(_ length: Int, size: Int) -> OriginExpectation {
        guard let window = behaviour.window, window < length else { return .complete }
        if length - window < size {
            return OriginExpectation(
                outcomes: ["limited", "complete", "unproven"], contents: .first(window), mayAllowDuplicates: false,
                reason: "a total that counts less than a page more than the origin returns may count hidden items")
        }
        let isSeen = totals == .exact || behaviour.refusesBehindWindow && access != .chain
        return OriginExpectation(
            outcomes: isSeen ? ["limited"] : ["limited", "unproven", "complete"], contents: .first(window),
            mayAllowDuplicates: false,
            reason: isSeen
                ? "nothing after the window can be fetched" : "the window looks like the end of a list without a total"
        )
    }

    private var ofEndless: OriginExpectation {
        if saysHasMore || totals == .exact { return .complete }
        return OriginExpectation(
            outcomes: ["complete", "unproven"], contents: .equal, mayAllowDuplicates: false,
            reason: "only repeated items show that the list has ended")
    }

    private func ofShuffled(isOnePage: Bool) -> OriginExpectation {
        let isWhole = behaviour.order == .withinPages || isOnePage
        return OriginExpectation(
            outcomes: isWhole ? ["complete", "unproven"] : ["unproven"], contents: isWhole ? .inAnyOrder : .some,
            mayAllowDuplicates: false,
            reason: isWhole
                ? "no two answers agree about the order" : "no two answers are cut from the same list")
    }
}
