/// Unusual properties of every answer of a simulated origin. The defaults describe an ordinary origin.
public struct OriginBehaviour: Hashable, Sendable {
    /// The items that each answer leaves out, although pages are cut as if these items were visible.
    public enum Hiding: Hashable, Sendable {
        /// No items.
        case nothing
        /// This percentage of items, drawn one by one. In a list that has not changed, every page of
        /// `OriginPlan.pageSize` items shows at least one item.
        case some(percent: Int)
        /// This percentage of groups, so that whole pages can be empty. A group consists of this number of items that
        /// were created one after the other.
        case groups(of: Int, percent: Int)
    }

    /// The answer to a request beyond the end. It can replace the answer that `OriginPlan.pastEnd` describes.
    public enum Beyond: String, Hashable, Sendable {
        /// The answer that `OriginPlan.pastEnd` describes.
        case asPlanned
        /// The last page again. On a grid it is the page with the last number, and otherwise the last items, as many as
        /// the page has room for. The answer of a chain still has a next cursor.
        case lastPage
        /// Items from the start of the list again, as if the list were repeated without end. Chains never end.
        case start
    }

    /// The order of the items.
    public enum Order: String, Hashable, Sendable {
        /// The same order in each answer.
        case stable
        /// The same items in each page, in another order in each answer.
        case withinPages
        /// Another order of the whole list in each answer.
        case everywhere
    }

    /// The end of a chain.
    public enum Tail: String, Hashable, Sendable {
        /// The page with the last item has no next cursor.
        case plain
        /// The page with the last item has a next cursor, which leads to an empty page.
        case emptyPage
        /// As `emptyPage`, and the empty page has a next cursor: the one with which it was requested.
        case sameCursor
    }

    /// The items that answers leave out.
    public var hiding = Hiding.nothing
    /// Whether totals count the items that are left out.
    public var countsHidden = true
    /// The number of items of a page that the next page of a chain repeats. Only positional cursors and sort keys
    /// overlap.
    public var overlap = 0
    /// The first position whose item cannot be fetched. `nil` means no limit. Totals count the full list.
    public var window: Int?
    /// Whether requests after the window are refused with status 422. Otherwise they get an empty page.
    public var refusesBehindWindow = false
    /// The answer to a request beyond the end.
    public var beyond = Beyond.asPlanned
    /// The order of the items.
    public var order = Order.stable
    /// The end of a chain.
    public var tail = Tail.plain
    /// For this number of requests after a change, every second answer comes from an outdated replica. 0 means that
    /// there is only one replica.
    public var replicaLag = 0
    /// Whether the JSON members of each item have another order in each answer.
    public var shufflesMembers = false
    /// Whether the ids of items come in pairs that differ by their JSON type only.
    public var hasAlikeIDs = false

    /// An ordinary origin.
    public init() {}
}

extension OriginBehaviour {
    /// The number of unusual properties.
    var weight: Int { parts.count }

    /// Behaviours with fewer unusual properties than this one.
    var smaller: [OriginBehaviour] {
        let plain = OriginBehaviour()
        var fewer: [OriginBehaviour] = []
        func without(_ change: (inout OriginBehaviour) -> Void) {
            var behaviour = self
            change(&behaviour)
            if behaviour.weight < weight { fewer.append(behaviour) }
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

    /// A short description of each unusual property.
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
        if refusesBehindWindow { parts.append("422 after the window") }
        if beyond != .asPlanned { parts.append("beyond the end: \(beyond.rawValue)") }
        if order != .stable { parts.append("another order \(order.rawValue)") }
        if tail != .plain { parts.append("tail \(tail.rawValue)") }
        if replicaLag > 0 { parts.append("a replica behind for \(replicaLag) requests") }
        if shufflesMembers { parts.append("members in any order") }
        if hasAlikeIDs { parts.append("ids alike") }
        return parts
    }
}
