/// The identity of one list at an origin: the caller's scope (`scope`) and the query's text (`text`).
///
/// Two keys identify the same list exactly when both parts are equal, byte for byte. A key must not contain secrets or
/// paging parameters (R45). The code that creates keys has to ensure this.
public struct QueryKey: Hashable, Sendable {
    /// Tenant, account or locale; empty when one list serves all callers.
    public var scope: String
    /// The canonical text of the query, for example a URL without its paging parameters.
    public var text: String

    /// A key of this text, compared byte for byte.
    /// - Parameters:
    ///   - text: the canonical text of the query, without secrets and without paging parameters (R45).
    ///   - scope: the caller's tenant, account or locale. Defaults to empty: one list serves all callers.
    public init(_ text: String, scope: String = "") {
        self.scope = scope
        self.text = text
    }

    // `String` equality follows Unicode's canonical equivalence. Keys are equal only if their bytes are equal.
    public static func == (left: QueryKey, right: QueryKey) -> Bool {
        left.scope.utf8.isSame(as: right.scope.utf8) && left.text.utf8.isSame(as: right.text.utf8)
    }

    public func hash(into hasher: inout Hasher) {
        scope.utf8.hash(into: &hasher)
        text.utf8.hash(into: &hasher)
    }

    /// A short name for people. Its eight characters depend on the key alone, so that a list has the same name in every
    /// store.
    public var shortID: String {
        // Crockford's base 32 (https://www.crockford.com/base32.html) in lower case: no letter resembles a digit.
        let digits = Array("0123456789abcdefghjkmnpqrstvwxyz")
        var hash = XXH64.hash(text, seed: XXH64.hash(scope))
        var name = ""
        for _ in 0..<8 {
            name.append(digits[Int(hash & 31)])
            hash >>= 5
        }
        return name
    }
}

// Keys are compared and hashed as whole stretches of memory: a key is a URL, and every served window looks one up.
extension String.UTF8View {
    fileprivate func isSame(as other: String.UTF8View) -> Bool {
        guard count == other.count else { return false }
        return withContiguousStorageIfAvailable { left in
            other.withContiguousStorageIfAvailable { right in left.elementsEqual(right) }
        }?.flatMap { $0 } ?? elementsEqual(other)
    }

    fileprivate func hash(into hasher: inout Hasher) {
        hasher.combine(count)
        guard withContiguousStorageIfAvailable({ hasher.combine(bytes: UnsafeRawBufferPointer($0)) }) == nil else {
            return
        }
        Array(self).withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}

extension QueryKey: ExpressibleByStringLiteral {
    public init(stringLiteral text: String) { self.init(text) }
}

/// The store's number for a query. The number is valid until the query is purged.
public struct QueryID: Hashable, Sendable {
    /// The number.
    public var rawValue: Int64

    /// A query of this number.
    public init(rawValue: Int64) {
        self.rawValue = rawValue
    }
}

/// The state of a list that a plan was made for (R4). The version of the content that a read returned is a
/// `ContentVersion`.
public struct ListVersion: Hashable, Sendable {
    /// The number of the list's generation: 1 at first, one higher each time a refresh has to read the list from the
    /// start (R19).
    public var generation: Int
    /// A number that grows with each commit in this generation that moves positions, removes them or marks them as
    /// stale, and with each repair of the list. Each storage decides by how much.
    public var revision: Int

    /// A version. The generation only grows, and so does the revision within one generation.
    public init(generation: Int, revision: Int) {
        self.generation = generation
        self.revision = revision
    }
}

/// The list's length according to the origin: the total, and the end.
public struct ListExtent: Hashable, Sendable {
    /// The total that the origin reports.
    public var total: ListTotal
    /// The position after the last item; `nil` while the end is unknown (R24).
    public var end: Int?

    /// The two values together, as one record holds them.
    public init(total: ListTotal, end: Int?) {
        self.total = total
        self.end = end
    }
}

/// The stored record of a query: everything about its list except pages and fetch records.
public struct QueryRecord: Hashable, Sendable {
    /// The store's number for the query.
    public var id: QueryID
    /// The identity of the list at its origin.
    public var key: QueryKey
    /// The list's generation and revision, which a commit plan names (R4).
    public var version: ListVersion
    /// The total that the origin reports.
    public var total: ListTotal
    /// The position after the last item, once an answer has shown the end of the list (R24). `nil` until then, and
    /// again after the list has grown.
    public var end: Int?
    /// The time when page one was last validated; `nil` before the first answer for page one.
    public var validatedAt: Timestamp?
    /// The time when the list was invalidated, until page one is fetched again. Until then, every held item is stale
    /// for all callers, regardless of its age. `nil` if the list was never invalidated. The store also resets it to
    /// `nil` with an answer for page one that was requested after that time.
    public var invalidatedAt: Timestamp?
    /// The freshness lifetime that the origin reports for page one (RFC 9111, 5.2.2.1: `max-age`), in whole
    /// milliseconds from 0 to a year. `nil` means that the origin reports none. `FreshnessPolicy` decides how much of
    /// it is used.
    public var freshFor: Duration?
    /// The time when the query was registered.
    public var createdAt: Timestamp
    /// Whether ids of the list repeat at the origin (R25). While this is true, the storage accepts pages with an id
    /// that is held already. A sweep that finds no repeated id resets it.
    public var allowsDuplicates: Bool
    /// The origin's paging style, in one word. `none` means that no request for a page after page one is known. Empty
    /// until the style is known.
    public var paging: String
    /// Whether no request for a page after page one is known.
    package var isOnePage: Bool { paging == QueryRecord.noPaging }
    /// The value of `paging` for an origin of which only page one can be requested.
    package static let noPaging = "none"
    /// The source's own instructions for further requests, including detected properties and the salted check of the
    /// credential (R45). The store does not interpret them. They never contain secrets.
    public var source: String
    /// The progress of the running sweep; `nil` when none is running.
    public var sweep: SweepProgress?
    /// Whether the query is pinned: exempt from eviction (R40), and kept complete and fresh by background work.
    public var isPinned: Bool
    /// The end of the origin's result window: the origin returns no items from this position on, although it counts
    /// more. `nil` means that no window is known.
    public var resultWindow: Int?
    /// The time when the last sweep of the list, or the last round of the recheck, ended (R54). Every page was
    /// requested between its beginning and this time. `nil` means that none has ended yet.
    public var lastAuditAt: Timestamp?
    /// Whether the last run that refreshed the list ended as unproven although no position up to its end was missing
    /// (R24). The origin has then shown or counted more items than it returned, and the list may be only a part of the
    /// origin's list.
    public var isUnproven: Bool
    /// The version of the content that the read returned (R51). A storage stores it; a plan does not set it.
    public var contentVersion: ContentVersion

    /// Creates a record.
    public init(
        id: QueryID, key: QueryKey, version: ListVersion, total: ListTotal, end: Int?, validatedAt: Timestamp?,
        createdAt: Timestamp, allowsDuplicates: Bool, paging: String, source: String, sweep: SweepProgress? = nil,
        isPinned: Bool = false, invalidatedAt: Timestamp? = nil, freshFor: Duration? = nil,
        resultWindow: Int? = nil, lastAuditAt: Timestamp? = nil, isUnproven: Bool = false,
        contentVersion: ContentVersion = .none
    ) {
        self.id = id
        self.key = key
        self.version = version
        self.total = total
        self.end = end
        self.validatedAt = validatedAt
        self.invalidatedAt = invalidatedAt
        self.freshFor = freshFor
        self.createdAt = createdAt
        self.allowsDuplicates = allowsDuplicates
        self.paging = paging
        self.source = source
        self.sweep = sweep
        self.isPinned = isPinned
        self.resultWindow = resultWindow
        self.lastAuditAt = lastAuditAt
        self.isUnproven = isUnproven
        self.contentVersion = contentVersion
    }

    /// The list's length according to the origin.
    public var extent: ListExtent { ListExtent(total: total, end: end) }

    /// Whether the origin's result window cuts the list off: the origin counts more items than the window lets it
    /// return, or gives no exact count. False when no window is known.
    public var isCutOff: Bool {
        guard let resultWindow else { return false }
        return resultWindow < total.exactCount ?? .max
    }

    /// The value of ``paging`` after a repair has removed a damaged description. The next sync replaces it.
    package static let lostPaging = "lost"

    /// Whether a repair has removed the description of the list, so that the storage no longer knows its URL.
    package var isDescriptionLost: Bool { paging == QueryRecord.lostPaging && source.isEmpty }

    /// Whether page one has to be fetched again before any part of the list counts as fresh.
    public var isInvalidated: Bool { invalidatedAt != nil }
}

/// The progress of a sweep: the work that verifies every page once, and resumes after an interruption (R31).
public struct SweepProgress: Hashable, Sendable {
    /// The position up to which everything has been verified.
    public var position: Int
    /// The cursor for the next page, for origins that do not take positions.
    public var cursor: PageCursor?
    /// The time when the sweep began.
    public var startedAt: Timestamp

    /// Creates the progress of a sweep.
    public init(position: Int, cursor: PageCursor? = nil, startedAt: Timestamp) {
        self.position = position
        self.cursor = cursor
        self.startedAt = startedAt
    }

    /// Returns the progress that remains when the list changes from `position` on.
    public func kept(before position: Int) -> SweepProgress {
        position < self.position ? SweepProgress(position: position, startedAt: startedAt) : self
    }
}
