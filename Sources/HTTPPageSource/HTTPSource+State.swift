import PageModel
import PagedRepository

extension HTTPSource {
    /// The state behind the mutex: the knowledge about the origin, and the usage. No code awaits while it holds the
    /// mutex.
    struct State {
        var description: PagingProfile?
        /// A stored paging profile that is too uncertain to use, with the attempts that failed.
        var earlier: PagingProfile?
        /// The stored check of the credential.
        var check: String?
        var usage = SourceUsage()
        /// A stored paging profile that the caller's settings contradict.
        var contradicted: PagingProfile?
        /// The end of the stored list. `nil` while it is not known.
        var heldEnd: Int?
        /// Whether a stored profile may count positions from 0 wrongly: no run has read its list to the end.
        var isFirstOffsetOpen = false
        /// Whether the last page one, or an answer after it, calls itself a part of the list.
        var isPart = false
        /// Whether the last page one calls its total a lower bound.
        var isLowerBound = false
        /// The time that this first contact may still wait for `Retry-After`, of five seconds in all.
        var retryWaitLeft = Duration.seconds(5)
        /// The number of requests that this first contact has repeated without counting them.
        var repeats = 0
        /// The message about an answer to a probe that could not be read.
        var unreadable: String?
        /// Whether a probe of this first contact was answered with 404. Only the first 404 is a reason to repeat.
        var hasAskedTwice = false
        /// The fields of page one that state a limit of requests.
        var rateLimits: [HTTPField] = []
        /// The encoding that this list has shown; see `BodyCharset.Shown`.
        var encoding: BodyCharset.Shown?
        /// Whether the next link of answers without items never ends. `nil` while it is not known.
        var isNextEndless: Bool?
        /// The URLs of the pages without items since the last page with items.
        var emptyPages: Set<String> = []
        /// The answers of probes, which are the next pages if they are requested soon.
        var ready = ReadyAnswers()
        /// The positions that the origin refused or answered.
        var multiples = PositionMultiples()
        /// Whether an answer behind page one has changed the paging profile. The next page carries it to the storage.
        var isProfileNew = false
    }
}
