/// The identity of one list at an origin: who is asking (`scope`) and for what (`text`).
///
/// Two keys are the same list exactly when both parts are equal, byte for byte. A key never carries secrets or
/// paging parameters (R45); whoever makes keys sees to that.
public struct QueryKey: Hashable, Sendable {
    /// Tenant, account or locale; empty when one list serves everybody.
    public var scope: String
    /// The canonical text of the query, for example a URL without its paging parameters.
    public var text: String

    /// A key of this text, compared byte for byte.
    /// - Parameters:
    ///   - text: what is asked for, in its canonical form; without secrets and without paging parameters (R45).
    ///   - scope: who is asking. Default: empty, one list serves everybody.
    public init(_ text: String, scope: String = "") {
        self.scope = scope
        self.text = text
    }

    // Strings are equal when they look alike; keys are equal when they are the same bytes.
    public static func == (left: QueryKey, right: QueryKey) -> Bool {
        left.scope.utf8.isSame(as: right.scope.utf8) && left.text.utf8.isSame(as: right.text.utf8)
    }

    public func hash(into hasher: inout Hasher) {
        scope.utf8.hash(into: &hasher)
        text.utf8.hash(into: &hasher)
    }

    /// A short name for people: eight characters that depend on nothing but the key, so that the same list has the
    /// same name in every store.
    public var shortID: String {
        // Crockford's base 32 (https://www.crockford.com/base32.html), lower case: no letter is mistaken for a digit.
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

// Whole stretches of memory: a key is a URL, and is looked up with every window that is served.
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

/// The store's own number for a query; valid as long as the query is not purged.
public struct QueryID: Hashable, Sendable {
    /// The number.
    public var rawValue: Int64

    /// A query of this number.
    public init(rawValue: Int64) {
        self.rawValue = rawValue
    }
}

/// Under which state of a list something was planned (R4). Which content a read returned says `ContentVersion`.
public struct ListVersion: Hashable, Sendable {
    /// Number of the list's life: bumped by reset, purge, or a refresh that finds another list.
    public var generation: Int
    /// Bumped by every commit that moves positions.
    public var revision: Int

    /// A version; both numbers only ever grow.
    public init(generation: Int, revision: Int) {
        self.generation = generation
        self.revision = revision
    }
}

/// What the origin says of a list's length: the total of its page one, and where the list was seen to end.
public struct ListExtent: Hashable, Sendable {
    /// What the origin counts.
    public var total: Total
    /// The position behind the last item; nil while nobody has seen the end (R24).
    public var end: Int?

    /// The two together, as one record holds them.
    public init(total: Total, end: Int?) {
        self.total = total
        self.end = end
    }
}

/// What the store knows about a query as a whole.
public struct QueryRecord: Hashable, Sendable {
    /// The store's number for it.
    public var id: QueryID
    /// What the list is, at its origin.
    public var key: QueryKey
    /// Which life of the list it is, and how often positions have moved in it (R4).
    public var version: ListVersion
    /// What the origin says of the list's length.
    public var total: Total
    /// Where the list ends, once the origin has said so (R24); growth re-opens it.
    public var end: Int?
    /// When the origin last confirmed page one; nil until it answered once.
    public var validatedAt: Timestamp?
    /// Since when somebody knows that the list is not right any more; nil once page one, asked for since, has been had.
    /// What is held is stale until then, for everybody, whenever the origin confirmed it.
    public var invalidatedAt: Timestamp?
    /// For how long the origin calls page one fresh (RFC 9111, 5.2.2.1: `max-age`), in whole milliseconds from 0 to a
    /// year; nil where it does not say. What that is worth, `FreshnessPolicy` says.
    public var freshFor: Duration?
    /// When the query was registered.
    public var createdAt: Timestamp
    /// True while the ids of the list repeat at the origin: R5 is not enforced then (R25). A sweep takes it back.
    public var allowsDuplicates: Bool
    /// How the origin pages, in one word, for people; empty until it is known.
    public var paging: String
    /// How to ask the origin again, in the source's own format; the store does not read it. What was detected, and the
    /// salted check of the credential, are in here (R45). Never holds secrets.
    public var source: String
    /// How far the running sweep has come; nil when none is under way.
    public var sweep: SweepProgress?
    /// Exempt from eviction (R40).
    public var isPinned: Bool
    /// The origin returns nothing at this position and behind it, although it counts more items: the end of its result
    /// window. `nil` means that no window is known.
    public var window: Int?
    /// Which content the read returned (R51). A storage stores it; it is not part of a plan.
    public var contentVersion: ContentVersion

    /// A record; each parameter is the property of its name.
    public init(
        id: QueryID, key: QueryKey, version: ListVersion, total: Total, end: Int?, validatedAt: Timestamp?,
        createdAt: Timestamp, allowsDuplicates: Bool, paging: String, source: String, sweep: SweepProgress? = nil,
        isPinned: Bool = false, invalidatedAt: Timestamp? = nil, freshFor: Duration? = nil,
        window: Int? = nil, contentVersion: ContentVersion = .none
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
        self.window = window
        self.contentVersion = contentVersion
    }

    /// How long the list is, by what the origin says of it.
    public var extent: ListExtent { ListExtent(total: total, end: end) }

    /// Whether the origin counts more items than its result window lets it return, or refuses to say.
    public var isCutOff: Bool {
        guard let window else { return false }
        return window < total.exactCount ?? .max
    }

    /// Whether page one has to be had again before anything of the list counts as fresh.
    public var isInvalidated: Bool { invalidatedAt != nil }
}

/// Where a sweep stands: the pass that verifies every page once, and is taken up again where it was (R31).
public struct SweepProgress: Hashable, Sendable {
    /// Everything before this position has been verified.
    public var position: Int
    /// How to ask for what comes next, for origins that cannot be asked by position.
    public var cursor: PageCursor?
    /// When the sweep began.
    public var startedAt: Timestamp

    /// A sweep that has come this far; each parameter is the property of its name.
    public init(position: Int, cursor: PageCursor? = nil, startedAt: Timestamp) {
        self.position = position
        self.cursor = cursor
        self.startedAt = startedAt
    }

    /// What is left of it when the list becomes another from `position` on.
    public func kept(before position: Int) -> SweepProgress {
        position < self.position ? SweepProgress(position: position, startedAt: startedAt) : self
    }
}
