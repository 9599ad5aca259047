public import PageModel

/// An exchange of a run with its storage, its source or its clock.
///
/// With `SyncOptions.reportsActions`, a run reports each exchange as `SyncEvent.acted`, in order.
public enum SyncAction: Hashable, Sendable {
    /// Reads the record, the held segments and page one of the list.
    case readState
    /// Reads the list without its items. `nil` means all positions. A range means the positions in that range.
    case readOutline(Range<Int>?)
    /// Reads the items at these positions.
    case readItems(Range<Int>)
    /// Looks up this number of items in the cached list.
    case locate(Int)
    /// Checks whether the stored items of the list are readable.
    case checkStoredItems
    /// Registers the query.
    case register
    /// Takes leases on the pages at these offsets, possibly as part of a commit (R30).
    case lease([Int])
    /// Renews the leases of the run (R30).
    case renewLeases
    /// Sends a request to the source.
    case fetch(PageRequest)
    /// Receives the result of the request for the page at this offset: an answer or a failure.
    case answer(at: Int)
    /// Commits changes of the list (R1).
    case commit(CommitPlan)
    /// Changes the ledger alone.
    case record([LedgerEdit])
    /// Waits, and sends no request before this time.
    case wait(until: Timestamp)
}

extension SyncAction: CustomStringConvertible {
    /// Describes the action in one line of English. The line contains positions and numbers. It contains no payload,
    /// id, URL or secret.
    public var description: String {
        switch self {
        case .readState: "read the state of the list"
        case .readOutline(nil): "read the outline"
        case .readOutline(let range?): "read the outline\(SyncAction.text(range))"
        case .readItems(let range): "read the items\(SyncAction.text(range))"
        case .locate(let count): "locate \(count) \(count == 1 ? "item" : "items")"
        case .checkStoredItems: "check the stored items"
        case .register: "register the query"
        case .lease(let offsets): "lease \(SyncAction.text(pages: offsets))"
        case .renewLeases: "renew the leases"
        case .fetch(let request): "fetch \(SyncAction.text(request))"
        case .answer(let offset): "receive the answer for \(offset)"
        case .commit(let plan):
            "commit \(plan.edits.isEmpty ? "no edit" : plan.edits.map(\.name).joined(separator: ", "))"
                + plan.ledger.map { "; \($0.name)" }.joined()
        case .record(let edits): "record \(edits.map(\.name).joined(separator: ", "))"
        case .wait: "wait"
        }
    }

    private static func text(_ range: Range<Int>) -> String {
        if range.isEmpty { return " of no position" }
        return range.upperBound == .max ? " from position \(range.lowerBound)" : " at \(range)"
    }

    private static func text(pages offsets: [Int]) -> String {
        "\(offsets.count == 1 ? "the page" : "the pages") at \(offsets.map(String.init).joined(separator: ", "))"
    }

    private static func text(_ request: PageRequest) -> String {
        let size = request.size.map { " with \($0) items" } ?? ""
        switch request.target {
        case .first: return "page one\(size)\(request.validator == nil ? "" : ", if it has changed")"
        case .offset(let offset): return "the page at \(offset)\(size)"
        case .cursor: return "the page behind a cursor\(size)"
        }
    }
}

extension ListEdit {
    /// The edit in a few words, without its payloads.
    fileprivate var name: String {
        switch self {
        case .insertPage(let page): "insert the page at \(page.offset) with \(page.content.count) items"
        case .rearrange(let order): "rearrange to \(order.pieces.count) \(order.pieces.count == 1 ? "piece" : "pieces")"
        case .markContiguous(let range): "mark \(range) contiguous"
        case .touchPage(let offset, _): "touch the page at \(offset)"
        case .startGeneration: "start a generation"
        case .markStale(let range): "mark \(range) stale"
        case .truncate(let end): "truncate at \(end)"
        case .dropOlderGenerations: "drop older generations"
        case .setTotal(let total): "set the total to \(total)"
        case .setEnd(let end): "set the end to \(end.map(String.init) ?? "unknown")"
        case .setResultWindow(let window): "set the result window to \(window.map(String.init) ?? "none")"
        case .validated: "validated"
        case .invalidated: "invalidated"
        case .setFreshFor: "set the freshness"
        case .setAllowsDuplicates(let allows): allows ? "allow repeated ids" : "forbid repeated ids"
        case .setSweep(let sweep): sweep.map { "continue the sweep at \($0.position)" } ?? "end the sweep"
        case .audited: "audited"
        case .setUnproven(let isUnproven): isUnproven ? "mark the list unproven" : "mark the list proven"
        case .describe: "describe the paging"
        }
    }
}

extension LedgerEdit {
    /// The edit in a few words.
    fileprivate var name: String {
        switch self {
        case .succeeded(let offset, _): "success at \(offset)"
        case .failed(let offset, let failure, _, _): "failure at \(offset) (\(failure.failureClass.rawValue))"
        case .released(let offset, _): "release of \(offset)"
        case .expedited(let offset): "retry of \(offset) as soon as possible"
        case .deleted(let offset, _): "no record at \(offset)"
        }
    }
}
