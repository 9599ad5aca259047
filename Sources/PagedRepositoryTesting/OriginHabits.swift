/// What a simulated origin does with every answer that most origins do not do. The defaults are those of an origin
/// without habits.
public struct OriginHabits: Hashable, Sendable {
    /// Which items are left out of each answer, although pages are cut as if they were there.
    public enum Hiding: Hashable, Sendable {
        /// None.
        case nothing
        /// So many of a hundred, one by one; in a list that never changed, every full page shows at least one.
        case some(percent: Int)
        /// So many of a hundred groups of `count` items that were made one after the other: whole pages are empty.
        case groups(of: Int, percent: Int)
    }

    /// What is answered to a request beyond the end, in place of what `OriginPlan.pastEnd` says.
    public enum Beyond: String, Hashable, Sendable {
        /// As the plan says.
        case asPlanned
        /// The last full page again. Chains hand over a next from there, too.
        case lastPage
        /// The page at that place of a ring: the list begins again behind its end. Chains never end.
        case start
    }

    /// The order of the items.
    public enum Order: String, Hashable, Sendable {
        /// The same in each answer.
        case stable
        /// The same items in each page, in another order each time.
        case withinPages
        /// Another order of the whole list for each answer.
        case everywhere
    }

    /// How a chain ends.
    public enum Tail: String, Hashable, Sendable {
        /// The page with the last item hands over nothing.
        case plain
        /// The page with the last item hands over a next, and an empty page is behind it.
        case emptyPage
        /// The same, and the empty page hands over the cursor that it was asked for with.
        case sameCursor
    }

    /// Which items are left out of answers.
    public var hiding = Hiding.nothing
    /// Whether totals count the items that are left out.
    public var countsHidden = true
    /// How many items of a page the next page of a chain begins with. Only positional cursors and sort keys overlap.
    public var overlap = 0
    /// The position from which on nothing is given; nil when everything is. Totals count the full list.
    public var window: Int?
    /// Whether requests behind the window are refused with 422; else they get an empty page.
    public var refusesBehindWindow = false
    /// What is answered beyond the end.
    public var beyond = Beyond.asPlanned
    /// The order of the items.
    public var order = Order.stable
    /// How a chain ends.
    public var tail = Tail.plain
    /// For so many requests after a change every second answer is that of a replica that has not seen it; 0: there is
    /// one replica.
    public var replicaLag = 0
    /// Whether the members of each item come in another order in each answer.
    public var shufflesMembers = false
    /// Whether the ids of every two items differ by their JSON type only.
    public var hasAlikeIDs = false

    /// An origin without habits.
    public init() {}
}

extension OriginHabits {
    /// How many habits there are.
    var weight: Int { parts.count }

    /// The same with one habit less.
    var smaller: [OriginHabits] {
        let plain = OriginHabits()
        var fewer: [OriginHabits] = []
        func without(_ change: (inout OriginHabits) -> Void) {
            var habits = self
            change(&habits)
            if habits.weight < weight { fewer.append(habits) }
        }
        without {
            $0.hiding = plain.hiding
            $0.countsHidden = plain.countsHidden
        }
        without { $0.countsHidden = plain.countsHidden }
        without { $0.overlap = plain.overlap }
        without {
            $0.window = plain.window
            $0.refusesBehindWindow = plain.refusesBehindWindow
        }
        without { $0.refusesBehindWindow = plain.refusesBehindWindow }
        without { $0.beyond = plain.beyond }
        without { $0.order = plain.order }
        without { $0.tail = plain.tail }
        without { $0.replicaLag = plain.replicaLag }
        without { $0.shufflesMembers = plain.shufflesMembers }
        without { $0.hasAlikeIDs = plain.hasAlikeIDs }
        return fewer
    }

    /// A few words for each habit.
    var parts: [String] {
        var parts: [String] = []
        switch hiding {
        case .nothing: break
        case .some(let percent): parts.append("hides \(percent) %")
        case .groups(let count, let percent): parts.append("hides \(percent) % of groups of \(count)")
        }
        if !countsHidden { parts.append("totals without the hidden") }
        if overlap > 0 { parts.append("pages overlap by \(overlap)") }
        if let window { parts.append("a window of \(window)") }
        if refusesBehindWindow { parts.append("422 behind the window") }
        if beyond != .asPlanned { parts.append("beyond the end: \(beyond.rawValue)") }
        if order != .stable { parts.append("another order \(order.rawValue)") }
        if tail != .plain { parts.append("tail \(tail.rawValue)") }
        if replicaLag > 0 { parts.append("a replica behind for \(replicaLag) requests") }
        if shufflesMembers { parts.append("members in any order") }
        if hasAlikeIDs { parts.append("ids alike") }
        return parts
    }
}
