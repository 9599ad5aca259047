/// The numbers of a run for its report and its events.
struct RunCounts: Equatable {
    /// The strongest result that page one had in this run.
    var reconciliation: SyncReport.Reconciliation = .none
    var pagesFetched = 0
    var pagesUnchanged = 0
    /// The number of answers that the origin forbids storing.
    var pagesNotStored = 0
    /// How often answers showed that the list had moved.
    var driftsDetected = 0
    /// Whether the origin answered any request, possibly with an error status.
    var originAnswered = false
    private(set) var warnings: [String] = []
    /// The number of held items, for progress events only. The storage has the exact number.
    var heldItems = 0
    var knownLength: Int?

    /// The number of pages that the run has received.
    var pages: Int { pagesFetched + pagesUnchanged }

    /// Counts a page that the run has stored, or compared with an equal stored one.
    mutating func count(isSame: Bool) { if isSame { pagesUnchanged += 1 } else { pagesFetched += 1 } }

    /// Adds a warning. Returns false if the report has it already.
    mutating func warn(_ text: String) -> Bool {
        guard !warnings.contains(text) else { return false }
        warnings.append(text)
        return true
    }

    /// Records a result of page one. The report contains the strongest result of a run.
    mutating func reconciled(_ finding: SyncReport.Reconciliation, held: Int, length: Int?) {
        if finding.weight > reconciliation.weight { reconciliation = finding }
        heldItems = held
        knownLength = length
    }
}

extension SyncReport.Reconciliation {
    /// The rank of the result. A higher rank replaces a lower one in the report.
    fileprivate var weight: Int {
        switch self {
        case .none: 0
        case .unchanged: 1
        case .resumed: 2
        case .shifted: 3
        case .spliced: 4
        case .repaired: 5
        case .staleTail: 6
        case .replaced: 7
        case .firstLoad: 8
        case .swept: 9
        }
    }
}
