import PageModel

/// The result of detection, before the parts that need a proof are proved.
struct DetectionDraft {
    var description: PagingProfile
    var evidence = Evidence()
    /// Messages for people: contradictions and guesses.
    var warnings: [String] = []
    /// Whether answers to probes show that the list ends with page one.
    var isProvenWhole = false
    /// Whether a candidate was proved, and the next answer then repeated at least half of its items from the proving
    /// answer or from page one. The list changed during detection.
    var isRestless = false
    /// Whether a probe of the present candidate returned mostly items that page one lacks.
    var sawOthers = false
    /// The first candidate that returned mostly items that page one lacks, and did not prove itself. Page one is then
    /// not the whole list.
    var unexplained: String?
    /// The number of repeated requests for page one, which show whether the list has changed.
    var renewals = 0
    /// The number of those requests that returned a changed page one. A change voids the earlier verdicts.
    var changes = 0
    /// Whether a repeated request for page one returned mostly other items. Other items then prove nothing.
    var isVolatile = false
    /// Whether a refused offset was followed by a probe for a multiple of the page size.
    var hasTriedMultiple = false
    /// Whether a request for an offset of page one was repeated because its answer had no items.
    var hasRepeatedEmpty = false
    /// The exact total in the answer to the last probe that was proved, or that returned the last item of page one
    /// alone.
    var probedTotal: Int?
    /// The exact total in the last answer without items to a probe.
    var emptyTotal: Int?
    /// Whether an answer without items has the same exact total as page one. That total does not count the page.
    var hasTotalWithoutItems = false
    /// Whether the last answer without items to a probe of a token names the requested page as its next page.
    var namesSamePage = false
    /// Whether the last answer without items to a probe of a token names no next page.
    var namesNoPage = false
    /// Whether the origin did not answer a confirming request. This first contact then sends no further confirming
    /// request.
    var wantsQuiet = false
    /// A hash of the first page one and of the ways to continue that were tried. `nil` means that no candidate was
    /// tried.
    var look: String?
    /// Whether the origin failed at a probe, so that another search may have another result.
    var hadTrouble = false
    /// The probes that the origin refused with a status that may be a temporary fault, such as 404.
    var misses: [OriginURL] = []
    /// Whether detection has stopped, because the origin requested a pause or failed, or its list changed. Detection
    /// then sends no more probes and draws no conclusions.
    var isInterrupted = false

    init(description: PagingProfile) {
        self.description = description
    }

    /// Whether page one has a next URL or a token, so that the list can be read without positions.
    var isChained: Bool { evidence.next != nil || evidence.token != nil }

    mutating func explain(_ field: String, _ value: String, _ reason: PagingDecision.Reason, _ detail: String? = nil) {
        description.reasons = (description.reasons ?? []) + [PagingDecision(field, value, reason, detail: detail)]
    }

    mutating func explain(_ field: String, _ place: HTTPSourceConfiguration.Place, _ isSaid: Bool) {
        explain(field, place.description, isSaid ? .said : .seen)
    }
}

/// The evidence in page one of how the list continues.
struct Evidence {
    /// The number of items in page one.
    var count = 0
    /// Whether a member identifies the items of page one.
    var hasIDs = false
    /// The next URL that the answer contains.
    var next: OriginURL?
    var token: ContinuationToken?
    /// Whether the place that the caller names for the next page holds a text that is not a URL.
    var hasBrokenNext = false
    /// The origin's statement whether more items follow.
    var hasMore: Bool?
    /// The member that calls the answers a part of the list, whatever their paging says.
    var part: JSONPointer?
    var pageCount: Int?
    /// The number that the body states for page one. `nil` when it states none.
    var pageNumber: Int?
    /// Whether the answer has a member for the next page that is null or empty.
    var deniesNext = false
    /// Whether the origin states that the list ends, next to a token. The token may be for later changes.
    var isMoreDenied = false
    /// The number of items after this page that the answer states.
    var remaining: Int?
    /// Whether the whole answer is an array, without a member that could say more.
    var isBare = false
    var total: ListTotal = .unknown
    /// Whether the total may count the page instead of the list. Such a total equals the number of items of page one,
    /// and its name leaves both readings open.
    var isTotalWeak = false
    /// Whether a weak total probably counts the list: it is in a header, or the page has no usual size. The total is
    /// used unless one of a few probes returns other items.
    var isTotalLikely = false
    /// Whether page one has fewer items than most pages, or than the URL requests.
    var isPageSmall = false
    /// Whether the origin says that its list has at least as many items as it counts.
    var isLowerBound = false
    /// The place of a text with the range of the page and a total that cannot be read: `1-18 of many`.
    var openRange: String?
    /// The member that the URL sorts by, when its value differs in every item.
    var sortKey: JSONPointer?
    /// Whether page one supports a weak total. The total counts the list then, unless a probe shows more items.
    var isTotalSupported = false
    /// The place of an empty list that is as plausible as the items, until a page follows them.
    var emptyRival: JSONPointer?
    /// The place of a list inside the first item. `nil` unless the items may be groups of the real items.
    var innerList: JSONPointer?
    /// The page sizes that the answer states.
    var sizes: [Int] = []
    /// A message that names a member of page one that may lead to the next page, and the settings to try. `nil` when no
    /// member looks like one.
    var suggestion: String?
    /// Ways to continue that the answer or the URL suggests without using them.
    var hints: [Candidate] = []

    /// The exact total, unless it is weak.
    var exactTotal: Int? { isTotalWeak ? nil : total.exactCount }

    /// Whether the answer states or shows that more items follow.
    var goesOn: Bool {
        next != nil || hasStrongToken || hasMore == true || (pageCount ?? 1) > 1 || (remaining ?? 0) > 0
    }

    /// Whether a token shows that more items follow.
    var hasStrongToken: Bool { token.map { !$0.isWeak } ?? false }

    /// Whether the page has the size of a page that was cut off: at least 10 items, and a multiple of 5, 8 or 12.
    var looksFull: Bool { count >= 10 && [5, 8, 12].contains { count.isMultiple(of: $0) } }
}

/// The value that an answer holds for the request of the next page, when it is not a URL.
struct ContinuationToken: Hashable {
    var place: HTTPSourceConfiguration.Place
    /// The last part of the place.
    var name: String
    /// The token. `nil` for an object whose members all become parameters.
    var text: String?
    /// Whether the name does not prove that more items follow; see `TokenName.isStrong`.
    var isWeak = false
    /// The name of the object around the token.
    var holder: String?

    /// Whether the token is an object of parameters.
    var isMerged: Bool { text == nil }

    /// Whether the token has percent escapes (`NTI1Cg%3D%3D`).
    var isEscaped: Bool { text.map { $0.contains("%") && $0.percentDecoded != nil } ?? false }

    /// The token as a number. `nil` when it is not a whole number.
    var number: Int? { text.flatMap { Int($0) } }
}
