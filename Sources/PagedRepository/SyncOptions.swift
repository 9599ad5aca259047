public import PageModel

/// The options of one synchronisation. Each property states its default. A number or a duration out of range counts as
/// the nearest valid one, except for `pageSize`. Durations are at most 68 years.
public struct SyncOptions: Hashable, Sendable {
    /// The number of concurrent fetches, 1 to 64; other numbers are clamped. It applies where the origin allows pages
    /// out of order. Defaults to 4.
    public var concurrency = 4
    /// The number of items to request per page, at least 1. A repository, an engine or a run with a smaller number
    /// traps when it is made; `PageSize` checks a number from a setting. `nil` means the origin's own page size.
    /// Defaults to nil.
    public var pageSize: Int?
    /// The number of fetched pages after which the run stops, at least 1. `nil` means no limit. Defaults to nil.
    public var maxPages: Int?
    /// The part of the list to fetch or to refresh. Defaults to `everything`.
    public var work = Work.everything
    /// The number of held items to request again with a page, at an origin that accepts any offset. At least 0 and less
    /// than the page size. Defaults to 1.
    ///
    /// Items that are received twice prove that the list did not move in between (R21), but leave room for fewer new
    /// items. While the length of the list is known, pages overlap only so often that the cost is at most one item in
    /// twenty. With a value of 1, every page of at least 21 items overlaps. While the length is unknown, every page of
    /// at least 10 items overlaps.
    public var overlap = 1
    /// When failed pages are retried. Defaults to the defaults of `RetrySchedule`.
    public var retry = RetrySchedule()
    /// How long to wait in total while only scheduled retries are left; at least 0. Defaults to 30 seconds.
    public var retryWaitBudget: Duration = .seconds(30)
    /// How long to wait before a second request for page one, when page one would leave less than half of the list
    /// (R20); at least 0. Defaults to 2 seconds.
    public var confirmationPause: Duration = .seconds(2)
    /// How long to wait before a second request for page one, when page one is empty (R20); at least 0. Defaults to 60
    /// seconds.
    ///
    /// The pause is long because a failing origin often returns an empty page. The ledger records page one as
    /// unconfirmed. If this run ends before the pause, a later run sends the request.
    public var emptyConfirmationPause: Duration = .seconds(60)
    /// The number of consecutive transport failures after which the origin counts as unavailable (R32), at least 1. A
    /// run that has received no answer then ends as `offline`. A `SyncEngine` counts runs without an answer instead.
    /// Defaults to 5.
    public var transportFailuresUntilOffline = 5
    /// How long a lease lasts (R30), 1 millisecond to 30 days. The run renews the lease after half of this time.
    /// Defaults to 60 seconds.
    public var lease: Duration = .seconds(60)
    /// Whether an unknown query is registered before the first request. Defaults to true.
    ///
    /// If true, no other process sends the same first request (R30), and the ledger records a failure of the first
    /// answer (R26). If false, the query is registered with its first answer. An origin that never answered then leaves
    /// no trace in the storage.
    public var registersFirst = true
    /// Whether the run skips pages whose next attempt is not due, and pages that failed permanently. For automatic
    /// triggers (R33). A retryable page that has used up `retry.attempts` is fetched at most once per `retry.cap`.
    /// Defaults to false.
    public var honorsLedger = false
    /// Whether to store answers that the origin forbids storing (RFC 9111, 5.2.2.5: `no-store`). Defaults to false.
    ///
    /// If false, the run reports such a page with `SyncEvent.notStored`, writes no part of it, and ends. The cached
    /// items stay as they were (R14), and do not count as validated.
    public var storesDespiteNoStore = false
    /// Whether the ledger records the text of errors that are not `FetchFailure`, in one line of at most 200
    /// characters. Such a text may contain user data. Otherwise the ledger records the name of the error's type. A
    /// `DecodingError` is always recorded with its coding path, and without any value. Defaults to false.
    public var recordsErrorText = false
    /// Whether the run reads all stored bytes of the list, before it fetches and when it ends, and fetches damaged
    /// pages again. Defaults to false.
    ///
    /// If false, the run only checks that the items of each page can be found. A run that finds no change in a complete
    /// list then checks page one only.
    public var checksStoredBytes = false
    /// Whether the run always reads `SyncReport.list`. Defaults to false.
    ///
    /// If false, `list` is nil after a run that needed to read no page except page one, because it found no change.
    /// `list` can also be nil after a run with `next` that has stored a page other than the last one.
    public var reportsOutline = false
    /// Whether the run sends `SyncEvent.acted` for each of its actions, for diagnosis. Defaults to false.
    public var reportsActions = false
    /// The maximum number of consecutive restarts without new items, for a list that changes while it is read; at least
    /// 0. Defaults to 3.
    public var restarts = 3
    /// The maximum number of pages of a list (R43), at least 1. Later pages are not fetched. Defaults to 1,000,000.
    public var pagesPerQuery = 1_000_000
    /// The number of consecutive answers after which an origin counts as repeating itself (R24), at least 1. An answer
    /// counts if at least nine in ten of its items were received before in the same pass. Defaults to 20.
    public var loopGuard = 20
    /// The number of consecutive answers without items, each under a new cursor, after which an origin counts as
    /// endless (R24). At least 1. Defaults to 1,000.
    public var emptyPageLimit = 1_000

    /// The time in which a run with `everything` checks each held page again (R54); at least 0. `nil` means never.
    /// Defaults to 7 days.
    ///
    /// Each run requests a share of the pages again, and finds changes that leave page one and the total unchanged. A
    /// run with `maxPages` checks no page.
    public var recheckEvery: Duration? = .seconds(7 * 24 * 3_600)

    /// Options with all defaults.
    public init() {}

    /// Whether the run only continues sweeps that the storage has recorded. The run then does not repeat a sweep that
    /// another process has finished (R31).
    var onlyFinishesSweeps = false

    /// The number of consecutive pages that only repeated items, up to the end of the runs before this one (R24).
    var repetitionsBefore = 0

    /// Whether the run only updates a stored list, and ends as purged if the list is not stored. A run that was planned
    /// from a stored list has this option, so that it does not store a list again that was removed since.
    package var updatesOnly = false

    /// A run with `everything` ends once more than this number of items are held from position 0 on. `nil` means no
    /// limit.
    var mostItems: Int?

    /// Held positions whose items the caller cannot use, and that are requested again. Page one is requested without
    /// its validator. A run with `positions` requests the other pages again. Those pages stay held until their answers
    /// arrive.
    var again: [Range<Int>] = []

    /// The work of a synchronisation.
    public enum Work: Hashable, Sendable {
        /// Refreshes and reconciles page one, and fetches all missing positions.
        case everything
        /// Refreshes and reconciles page one only.
        case refresh
        /// Does the work of `everything`, and then verifies every page of the list once (R23).
        case sweep
        /// Fetches the page after the segment that begins at position 0. Fetches page one when no item is held. A held
        /// page one is not refreshed.
        case next
        /// Fetches the missing items at these positions. In a chain, all positions before them are fetched too. A held
        /// page one is not refreshed.
        case positions(Range<Int>)

        /// Whether page one is requested even when it is held.
        var refreshesHead: Bool {
            switch self {
            case .everything, .refresh, .sweep: true
            case .next, .positions: false
            }
        }
    }
}

/// The result of a synchronisation, and the state of the list after it.
public struct SyncReport: Hashable, Sendable {
    /// How a synchronisation ended. The raw values appear in the JSON output of the command-line tool.
    public enum Outcome: String, Hashable, Sendable {
        /// Every position of the list is held. After a run with `next` or `positions`: every requested position is
        /// held.
        case complete
        /// The run reached a limit: the page budget, or the origin's result window. See `SyncReport.limit`.
        case limited
        /// The work is not finished: positions are missing, a request failed and can be retried, or the run was
        /// cancelled. The ledger schedules the retries.
        case incomplete
        /// All returned items are held, but the origin's answers contradict each other, so the list may be incomplete.
        /// The origin repeats itself, or the list kept changing during the run (R24, R25). Or page one is the only page
        /// that the origin returns, and it states that more items follow. Or the origin counts at least a page more
        /// than it returns by position, and no answer shows that the list ends.
        case unproven
        /// The origin answered no request of the run. If the origin answered some requests and then none, the run is
        /// `incomplete`, and the ledger names the pages without an answer.
        case offline
        /// Page one cannot be fetched or used, and a retry would not help. `SyncReport.headFailure` has the reason.
        case failed
        /// The storage is damaged. Fetched pages were stored where possible, and the storage needs a repair.
        case damaged
        /// The list was removed from the storage during the run.
        case purged
    }

    /// The result of the refresh of page one. The raw values appear in the JSON output of the command-line tool.
    public enum Reconciliation: String, Hashable, Sendable {
        /// Page one was not requested, or could not be fetched.
        case none
        /// No item was held. Page one begins the list (R19).
        case firstLoad = "first_load"
        /// Page one is unchanged (R16).
        case unchanged
        /// Page one alone explained all changes (R17).
        case shifted
        /// Further requests found the changes, and the cached list was repaired (R18).
        case repaired
        /// New pages of a chain were fetched until they met the cached items (R22).
        case spliced
        /// Items after the fetched pages of a chain have changed. A refresh alone does not find them; a run with
        /// `everything` does (R22).
        case staleTail = "stale_tail"
        /// The list is read from the start as a new generation. No cached item was found at the origin, the items
        /// cannot be compared, or the reconciliation was contradicted three times in a row (R18, R19, R25).
        case replaced
        /// Every page was verified (R23).
        case swept
        /// The list was incomplete when the run began, and the run continued to load it (R31).
        case resumed
    }

    /// The limit that kept a run from fetching the whole list. The raw values appear in the JSON output of the
    /// command-line tool.
    public enum Limit: String, Hashable, Sendable {
        /// The run fetched `SyncOptions.maxPages` pages.
        case pages
        /// The origin returns no items after a position, although its total is larger (`QueryRecord.resultWindow`).
        case resultWindow = "origin_window"
    }

    /// How the run ended.
    public var outcome: Outcome
    /// The limit that was reached. Returns nil unless `outcome` is `limited`.
    public var limit: Limit? {
        guard outcome == .limited else { return nil }
        return (list?.isAtResultWindow ?? state?.isAtResultWindow) == true ? .resultWindow : .pages
    }
    /// The result of the refresh of page one.
    public var reconciliation: Reconciliation
    /// The list after the run, page by page. `nil` means that the list is not stored, or that the run did not need to
    /// read all pages. See `SyncOptions.reportsOutline`.
    public var list: ListOutline?
    /// A summary of the list after the run. `nil` means that the list is not stored.
    public var state: ListState?
    /// The requests and bytes that the source has used since it was created, in this run and in earlier ones.
    public var usage: SourceUsage
    /// The number of answers whose items the run used.
    public var pagesFetched: Int
    /// The number of answers that the origin called unchanged, or that equal the stored page.
    public var pagesUnchanged: Int
    /// The number of held pages that this run neither fetched nor validated.
    public var pagesKept: Int
    /// The number of answers that the origin forbids storing. Answers for pages of the list were reported with
    /// `SyncEvent.notStored`. Answers to probes and sweeps were dropped.
    public var pagesNotStored = 0
    /// The number of items that the origin counts and leaves out of its pages, as far as its total shows (R53). 0 for a
    /// list that is not complete, and for one without hidden items.
    public var hiddenItems = 0
    /// The number of answers that showed that the list had moved during the run (R21).
    public var driftsDetected = 0
    /// Whether the caller cancelled the run before its work was done. The list keeps all pages that were fetched.
    public var wasCancelled = false
    /// The number of items of page one, as the run has received it. 0 if the run has received none.
    var pageOneCount = 0
    /// Whether the origin answered any request, possibly with an error status.
    var originAnswered = false
    /// Whether the end of the held items and the total differ, after a refresh of a chain that was held up to its end,
    /// or after a load of the next page that reached an end. The list changed after page one, or the total is wrong
    /// (R22).
    var isTailContradicted = false
    /// The number of consecutive pages, up to the last one of the run, that only repeat items of a list with repeated
    /// ids.
    var repetitions = 0
    /// Whether the run gave up because the list changed with each pass.
    package var keptChanging = false
    /// Why the sweep of the run stopped: the failures of the sweep's requests, by the position of their ledger entries.
    package var unverified: [Int: FetchFailure] = [:]
    /// Whether the run ended because the origin no longer answered (R32). The origin may have answered earlier
    /// requests.
    var lostOrigin = false
    /// Warnings for the user, in the order in which they arose.
    public var warnings: [String]
    /// Why page one could not be refreshed. The reason can also be an unanswered probe or sweep request, a page one
    /// that is not confirmed yet (R20), or a source that refuses the list (R45). `nil` means that no refresh was
    /// requested, or that it succeeded.
    public var headFailure: FetchFailure?
    /// The duration of the run, by the run's clock.
    public var duration: Duration

    /// Creates a report of the stored list, without any request to the origin.
    public init(stored list: ListOutline) {
        let held: Outcome = list.isComplete ? .complete : list.isAtResultWindow ? .limited : .incomplete
        self.init(
            outcome: !list.damaged.isEmpty ? .damaged : list.isUnproven ? .unproven : held,
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

    /// The time of the earliest scheduled retry, by the storage's clock (R52). `nil` means that no retry is scheduled.
    public var nextAttemptAt: Timestamp? { failures.compactMap(\.nextAttemptAt).min() }

    /// The ledger entries of failing pages, earliest next attempt first.
    var failures: [LedgerEntry] { list?.failures ?? state?.failures ?? [] }
}
