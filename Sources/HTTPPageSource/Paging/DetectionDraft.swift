import PageModel

/// What detection came to, before it is proved where it needs proof.
struct DetectionDraft {
    var description: SourceDescription
    var evidence = Evidence()
    /// What people should hear of: contradictions, guesses.
    var warnings: [String] = []
    /// The origin wants quiet, or is not well: nothing more is asked, and nothing concluded.
    var isInterrupted = false

    init(description: SourceDescription) {
        self.description = description
    }

    mutating func explain(_ field: String, _ value: String, _ ground: Explained.Ground, _ detail: String? = nil) {
        description.reasons = (description.reasons ?? []) + [Explained(field, value, ground, detail: detail)]
    }

    mutating func explain(_ field: String, _ place: HTTPSourceConfiguration.Place, _ isSaid: Bool) {
        explain(field, place.description, isSaid ? .said : .seen)
    }
}

/// What page one shows of how its list goes on.
struct Evidence {
    /// Items in page one.
    var count = 0
    /// Identities of items can be told apart by an id.
    var hasIDs = false
    /// The live next URL.
    var next: OriginURL?
    var token: ContinuationToken?
    /// The origin's own word.
    var hasMore: Bool?
    var pageCount: Int?
    /// What the body calls page one, where it says so.
    var pageNumber: Int?
    var total: Total = .unknown
    /// The total may as well count the page: it equals a round number of items, and its name does not decide.
    var isTotalWeak = false
    /// Members that sort the list, as the URL says, and that differ in every item.
    var sortKey: JSONPointer?
    /// Ways on that the answer or the URL let guess, and show nowhere at work.
    var hints: [Candidate] = []

    /// A total that can be gone by.
    var exactTotal: Int? { isTotalWeak ? nil : total.exactCount }

    /// The answer says that there is more.
    var goesOn: Bool { next != nil || token != nil || hasMore == true || (pageCount ?? 1) > 1 }

    /// It looks like a page that was cut off: people like round sizes, and some like dozens or powers of two.
    var looksFull: Bool { count >= 10 && [5, 8, 12].contains { count.isMultiple(of: $0) } }
}

/// What an answer hands over for the next page, where that is no URL.
struct ContinuationToken: Hashable {
    var place: HTTPSourceConfiguration.Place
    /// The last part of the place.
    var name: String
    /// Nil for an object, whose members all become parameters.
    var text: String?

    /// Whether it is an object of parameters.
    var isMerged: Bool { text == nil }

    /// The token, when it is a count.
    var number: Int? { text.flatMap { Int($0) } }
}
