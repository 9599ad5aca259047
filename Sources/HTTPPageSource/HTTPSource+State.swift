import PageModel
import PagedRepository

extension HTTPSource {
    /// The state that the mutex guards: the knowledge about the origin, and the usage. No code awaits while it holds
    /// the mutex.
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
        /// Whether a stored profile may count positions from 0 wrongly: the end of its list is not known.
        var isFirstOffsetOpen = false
        /// Whether the last page one, or an answer after it, calls itself a part of the list.
        var isPart = false
        /// Whether the last page one calls its total a lower bound.
        var isLowerBound = false
        /// The time that this first contact may still wait for `Retry-After`, out of five seconds in total.
        var retryWaitLeft = Duration.seconds(5)
        /// The number of requests that this first contact has repeated without counting them.
        var repeats = 0
        /// The failure message of the last probe of this first contact whose answer could not be read. `nil` if there
        /// is none.
        var unreadable: String?
        /// Whether a probe of this first contact was answered with 404. Only the first 404 is a reason to repeat a
        /// request.
        var hasAskedTwice = false
        /// The header fields of page one that state a rate limit.
        var rateLimits: [HTTPField] = []
        /// The encoding that this list has shown; see `BodyCharset.Shown`.
        var encoding: BodyCharset.Shown?
        /// Whether the origin sends a next link in every answer, even after the end of the list. `nil` while it is not
        /// known.
        var isNextEndless: Bool?
        /// The URLs of the pages without items since the last page with items.
        var emptyPages: Set<String> = []
        /// Answers to probes, for a run that requests the same pages within five seconds.
        var ready = ReadyAnswers()
        /// The positions that the origin refused or answered.
        var multiples = PositionMultiples()
        /// Whether an answer for a later page has changed the paging profile. The next page carries the profile to the
        /// storage.
        var isProfileNew = false
    }
}
