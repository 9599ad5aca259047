public import PageModel

/// How one synchronisation behaves; each default is said where it stands.
public struct SyncOptions: Hashable, Sendable {
    /// Fetches at a time, where the origin allows pages out of order. 1…64. Default: 4.
    public var concurrency = 4
    /// How many items to ask for per page; nil takes what the origin gives. 1…. Default: nil.
    public var pageSize: Int?
    /// Stop after this many pages were fetched; nil means all. 1…. Default: nil.
    public var maxPages: Int?
    /// What is to be brought in, or up to date. Default: everything.
    public var work = Work.everything
    /// How many items that are held already are asked for again with a page, where the origin takes any offset: what is
    /// received twice proves that nothing moved in between (R21). Taken out of the page's size, and only from so many
    /// pages that it costs one item in twenty at most: with one item, from each page of 21 items and more. 0…size - 1.
    /// Default: 1.
    public var overlap = 1
    /// When failed pages are tried again. Default: that of `RetrySchedule`.
    public var retry = RetrySchedule()
    /// How long to wait, in all, while nothing but scheduled retries is left. 0…. Default: 30 seconds.
    public var patience: Duration = .seconds(30)
    /// How long to wait before a page one that makes the list shrink a lot is asked for once more (R20). 0….
    /// Default: 2 seconds.
    public var confirmationPause: Duration = .seconds(2)
    /// The same for a page one that is empty, of which nothing can be recognised: an origin in a bad minute gives many
    /// of them. The doubt is kept in the ledger; a later run asks, when this one is not patient enough. 0…. Default: 60
    /// seconds.
    public var emptyConfirmationPause: Duration = .seconds(60)
    /// Consecutive transport failures after which the origin counts as away (R32). 1…. Default: 5.
    public var transportFailuresUntilOffline = 5
    /// How long a page in flight is held by this process (R30); renewed at half its time. More than 0.
    /// Default: 60 seconds.
    public var lease: Duration = .seconds(60)
    /// Whether a query that is unknown is registered before its origin is asked, so that nobody else asks at the same
    /// time (R30), and a first answer that fails is in the ledger (R26). When false, with its first answer: an origin
    /// that never answered leaves no trace in the storage. Default: true.
    public var registersFirst = true
    /// Whether pages whose next attempt is not due yet, or that were given up, are left alone: for automatic triggers
    /// (R33). What could be tried again and was given up is tried once in `retry.cap`. Default: false.
    public var honorsLedger = false
    /// Whether answers are stored that the origin forbids to keep (RFC 9111, 5.2.2.5: `no-store`). When false, such a
    /// page is handed on (`SyncEvent.notStored`), nothing of it is written, and the run ends with it: what was stored
    /// before stays as it was (R14), and is not confirmed. Default: false.
    public var storesDespiteNoStore = false
    /// Whether a run reads every byte that is stored of the list before it fetches and when it ends, to fetch again
    /// what is damaged. When false, a run only looks whether the items of each page can be found; a refresh that finds
    /// nothing new in a complete list looks at page one alone. Default: false.
    public var checksStoredBytes = false
    /// Whether `SyncReport.list` is read in any case. When false, a run that found nothing new reads no page of the list
    /// but page one, and leaves it nil. Default: false.
    public var reportsOutline = false
    /// How often in a row a list that changes while it is read is reconciled without anything new having come in. 0….
    /// Default: 3.
    public var restarts = 3
    /// A list is not followed beyond this many pages (R43). 1…. Default: 1,000,000.
    public var pagesPerQuery = 1_000_000
    /// Answers in a row of whose items at least nine in ten were received before in the same pass, after which an
    /// origin counts as repeating itself (R24). 1…. Default: 20.
    public var loopGuard = 20
    /// Answers in a row without items, each under a new cursor, after which an origin counts as endless (R24). 1….
    /// Default: 1,000.
    public var emptyPageLimit = 1_000

    /// The defaults.
    public init() {}

    /// A sweep that somebody else has finished by now is not begun anew: the work of those who only go on with what was
    /// cut off (R31).
    var onlyFinishesSweeps = false

    /// What a synchronisation is for.
    public enum Work: Hashable, Sendable {
        /// Page one is refreshed and reconciled, and what is missing is fetched.
        case everything
        /// Page one is refreshed and reconciled, and nothing else is fetched.
        case refresh
        /// Everything, and then every page of the list is verified once (R23).
        case sweep
        /// The page behind the run that begins with the first item; page one, where nothing is held. Page one is not
        /// refreshed.
        case next
        /// What is missing at these positions; in a chain, everything before them, too. Page one is not refreshed.
        case positions(Range<Int>)

        /// Whether page one is asked for although it is held.
        var refreshesHead: Bool {
            switch self {
            case .everything, .refresh, .sweep: true
            case .next, .positions: false
            }
        }
    }
}

/// What a synchronisation did, and what is the matter with the list now.
public struct SyncReport: Hashable, Sendable {
    /// How it ended; the raw values are those of the tool's JSON.
    public enum Outcome: String, Hashable, Sendable {
        /// Every position of the list is held.
        case complete
        /// A limit was reached: the budget of pages, or the origin's result window. See `SyncReport.limit`.
        case limited
        /// Something is missing; what can be retried is scheduled in the ledger.
        case incomplete
        /// Everything that the origin gave is held, and its answers contradict each other: nothing proves that the list
        /// is whole. It repeats itself, or did not stand still for long enough (R24, R25).
        case unproven
        /// The origin could not be reached.
        case offline
        /// The origin's answer cannot be used, and trying again will not help.
        case failed
        /// The storage is damaged: what could be fetched was stored, and a repair of the storage is needed.
        case damaged
        /// The list was removed from the storage during the run.
        case purged
    }

    /// What the refresh of page one found; the raw values are those of the tool's JSON.
    public enum Reconciliation: String, Hashable, Sendable {
        /// Page one was not asked for, or could not be had.
        case none
        /// R19: nothing was held; page one begins the list.
        case firstLoad = "first_load"
        /// R16: page one is as it was.
        case unchanged
        /// R17: page one explained everything.
        case shifted
        /// R18: more was asked, and what had changed was mended.
        case repaired
        /// R22: what is new was walked through until it met what was held.
        case spliced
        /// R22: something behind what was read is not as it was; a normal synchronisation finds it.
        case staleTail = "stale_tail"
        /// R19: nothing of what was held is known any more; the list is read anew.
        case replaced
        /// R23: every page was verified.
        case swept
        /// R31: a list that was not whole was gone on with.
        case resumed
    }

    /// What kept a run from the whole list; the raw values are those of the tool's JSON.
    public enum Limit: String, Hashable, Sendable {
        /// `SyncOptions.maxPages`.
        case pages
        /// The origin returns no items behind a position, although it counts more (`QueryRecord.window`).
        case originWindow = "origin_window"
    }

    /// How it ended.
    public var outcome: Outcome
    /// Which limit was reached. Returns nil unless `outcome` is `limited`.
    public var limit: Limit? {
        guard outcome == .limited else { return nil }
        return (list?.isAtWindow ?? state?.isAtWindow) == true ? .originWindow : .pages
    }
    /// What the refresh of page one found.
    public var reconciliation: Reconciliation
    /// The list as it is now, page by page; nil when nothing was ever stored for it, and where the run found nothing new
    /// and had no other reason to read the pages: see `SyncOptions.reportsOutline`.
    public var list: ListOutline?
    /// The list as it is now, in short; nil when nothing was ever stored for it.
    public var state: ListState?
    /// What the source has cost in this run.
    public var usage: SourceUsage
    /// Answers whose items were taken.
    public var pagesFetched: Int
    /// Answers that said "unchanged", or were.
    public var pagesUnchanged: Int
    /// Pages that are held and were not asked for.
    public var pagesKept: Int
    /// Answers that the origin forbids to keep: they were handed on, and nothing of them is stored. A run that met one
    /// is `incomplete`.
    public var pagesNotStored = 0
    /// How often an answer showed that the list had moved while it was read (R21).
    public var driftsSeen = 0
    /// Whether the origin answered anything, be it a refusal.
    var wasHeard = false
    /// What people should hear of, in order.
    public var warnings: [String]
    /// Why page one could not be had; nil when it could.
    public var headFailure: FetchFailure?
    /// How long it took, on the clock of the run.
    public var duration: Duration

    /// What the store holds of a list, without asking the origin.
    public init(stored list: ListOutline) {
        self.init(
            outcome: !list.damaged.isEmpty ? .damaged : list.isComplete ? .complete : .incomplete,
            reconciliation: .none, list: list, usage: SourceUsage(),
            pagesFetched: 0, pagesUnchanged: 0, pagesKept: list.heldPages.count, warnings: [], headFailure: nil,
            duration: .zero)
    }

    init(
        outcome: Outcome, reconciliation: Reconciliation, list: ListOutline?, usage: SourceUsage, pagesFetched: Int,
        pagesUnchanged: Int, pagesKept: Int, warnings: [String], headFailure: FetchFailure?, duration: Duration
    ) {
        self.outcome = outcome
        self.reconciliation = reconciliation
        self.list = list
        state = list.map { ListState($0) }
        self.usage = usage
        self.pagesFetched = pagesFetched
        self.pagesUnchanged = pagesUnchanged
        self.pagesKept = pagesKept
        self.warnings = warnings
        self.headFailure = headFailure
        self.duration = duration
    }

    /// The soonest scheduled retry.
    public var nextAttemptAt: Timestamp? { failures.compactMap(\.nextAttemptAt).min() }

    /// Ledger entries of failing pages, soonest next attempt first.
    var failures: [LedgerEntry] { list?.failures ?? state?.failures ?? [] }
}

/// What happens during a synchronisation, for progress displays.
public enum SyncEvent: Hashable, Sendable {
    /// The first word on a list that the storage knows: how many positions are held, of how many. A list that is new
    /// has none.
    case opened(held: Int, length: Int?)
    /// Page one was had, and this is what it meant.
    case reconciled(SyncReport.Reconciliation)
    /// A page is stored: its items, and what is held now of how many.
    case stored(Range<Int>, held: Int, length: Int?)
    /// A page that the origin forbids to keep, as it came, and the position of its first item: whoever listens has it,
    /// and nobody else will.
    case notStored(offset: Int, FetchedPage)
    /// A page could not be had, and when it is tried again; nil: not by itself.
    case failed(offset: Int, FetchFailure, nextAttemptAt: Timestamp?)
    /// Nothing to do until then.
    case waiting(until: Timestamp)
    /// Something that people should hear of.
    case warning(String)
}
