/// The kind of evidence that an item follows the item before it (G1).
public enum Evidence: String, Hashable, Sendable {
    /// One answer of the origin, or an overlap of answers, showed the two items side by side.
    case verified
    /// The order was concluded from a shift, a position or a cursor alone.
    case inferred
}

/// The `ETag` and `Last-Modified` of an answer, and the exact request that the answer belongs to (R1). The source sends
/// them with the same request again, so that the origin can reply "not modified".
public struct Validator: Hashable, Sendable {
    /// The request, in the source's own format. A validator is sent with this request and with no other.
    public var request: String
    /// `ETag` as received, with quotes and weakness prefix (RFC 9110, 8.8.3).
    public var entityTag: String?
    /// `Last-Modified` as received (RFC 9110, 8.8.2).
    public var lastModified: String?
    /// Whether the validator covers the total, so that "not modified" confirms the total as well (R16).
    public var coversTotal: Bool

    /// Creates a validator.
    public init(request: String, entityTag: String?, lastModified: String?, coversTotal: Bool) {
        self.request = request
        self.entityTag = entityTag
        self.lastModified = lastModified
        self.coversTotal = coversTotal
    }
}

/// The source's instructions for fetching the next page, in its own format. A cursor is stored with its page in one
/// transaction, so that it is never ahead of the page's data (R1).
public struct PageCursor: Hashable, Sendable {
    /// The text of the cursor, which only the source interprets. It never contains secrets (R45).
    public var text: String

    /// A cursor of this text.
    public init(_ text: String) {
        self.text = text
    }
}

/// A seam inside a page that is inferred, not verified, because two pages were joined there (G1).
public struct InnerSeam: Hashable, Sendable {
    /// The index, within the page, of the item after the seam.
    public var index: Int
    /// The time since when the seam has been inferred.
    public var since: Timestamp

    /// Creates a seam.
    public init(index: Int, since: Timestamp) {
        self.index = index
        self.since = since
    }
}

/// A page without its items, for decisions.
public struct PageSummary: Hashable, Sendable {
    /// The 0-based position of the page's first item in the list.
    public var offset: Int
    /// The number of the page's items. A page without items holds no position.
    public var count: Int
    /// The list's generation that the page belongs to. Pages of an older generation stay readable, but do not count as
    /// held.
    public var generation: Int
    /// The list's revision when the page was written or last moved.
    public var revision: Int
    /// The evidence for the seam before the page's first item. A page at offset 0 is `verified`.
    public var evidence: Evidence
    /// The time since when that evidence has held.
    public var evidenceAt: Timestamp
    /// The seams inside the page that are inferred. Such seams arise where pages were joined.
    public var innerInferredSeams: [InnerSeam]
    /// The time when the page's items were fetched.
    public var fetchedAt: Timestamp
    /// The time when the page was last validated. The age of the page counts from this time.
    public var validatedAt: Timestamp
    /// A hash of the page's items and ids. Equal hashes mean an unchanged page (R6). See `PageContent.fingerprint`.
    public var fingerprint: UInt64
    /// The cursor that this page was fetched with. `nil` for page one, for pages fetched by offset, and for the second
    /// part of a page that was split.
    public var cursorIn: PageCursor?
    /// The cursor for the next page. `nil` at the end, for origins that take offsets, and for the first part of a page
    /// that was split.
    public var cursorOut: PageCursor?
    /// The validator of its request. `nil` when the origin gave none, and after the page was moved, split or joined
    /// (R1).
    public var validator: Validator?

    /// Creates a summary.
    public init(
        offset: Int, count: Int, generation: Int, revision: Int, evidence: Evidence, evidenceAt: Timestamp,
        innerInferredSeams: [InnerSeam] = [], fetchedAt: Timestamp, validatedAt: Timestamp, fingerprint: UInt64,
        cursorIn: PageCursor?,
        cursorOut: PageCursor?, validator: Validator?
    ) {
        self.offset = offset
        self.count = count
        self.generation = generation
        self.revision = revision
        self.evidence = evidence
        self.evidenceAt = evidenceAt
        self.innerInferredSeams = innerInferredSeams
        self.fetchedAt = fetchedAt
        self.validatedAt = validatedAt
        self.fingerprint = fingerprint
        self.cursorIn = cursorIn
        self.cursorOut = cursorOut
        self.validator = validator
    }

    /// The positions that the page holds.
    public var range: Range<Int> { offset..<offset + count }

    /// Whether this page was fetched with the cursor of the page before it. The origin itself then gave this order.
    public func isReached(from before: PageSummary) -> Bool {
        before.cursorOut != nil && before.cursorOut == cursorIn
    }
}

/// A page to be stored.
public struct PageWrite: Hashable, Sendable {
    /// The 0-based position of the page's first item.
    public var offset: Int
    /// The page's items.
    public var content: PageContent
    /// The evidence that the page's first item follows the item before it.
    public var evidence: Evidence
    /// The cursor that the page was fetched with; `nil` for page one and for pages fetched by offset.
    public var cursorIn: PageCursor?
    /// The cursor for the next page; `nil` at the end, and for origins that take offsets.
    public var cursorOut: PageCursor?
    /// The validator of its request; `nil` when the origin gave none.
    public var validator: Validator?

    /// Creates a page to be stored.
    public init(
        offset: Int, content: PageContent, evidence: Evidence, cursorIn: PageCursor? = nil,
        cursorOut: PageCursor? = nil, validator: Validator? = nil
    ) {
        self.offset = offset
        self.content = content
        self.evidence = evidence
        self.cursorIn = cursorIn
        self.cursorOut = cursorOut
        self.validator = validator
    }

    /// The positions that the page will hold.
    public var range: Range<Int> { offset..<offset + content.count }
}
