/// Why an item is believed to follow the one before it (G1).
public enum Evidence: String, Hashable, Sendable {
    /// Seen adjacent in one answer of the origin, or by overlap.
    case verified
    /// By shift, by offset or by continuation alone.
    case inferred
}

/// What the origin gave to recognise an answer again, and the exact request that it answered (R1).
public struct Validator: Hashable, Sendable {
    /// The request, in the source's own form. A validator is sent with this request and with no other.
    public var request: String
    /// `ETag` as received, quotes and weakness included (RFC 9110, 8.8.3).
    public var entityTag: String?
    /// `Last-Modified` as received (RFC 9110, 8.8.2).
    public var lastModified: String?
    /// Whether the total was part of what is validated, so that "not modified" confirms it too (R16).
    public var coversTotal: Bool

    public init(request: String, entityTag: String?, lastModified: String?, coversTotal: Bool) {
        self.request = request
        self.entityTag = entityTag
        self.lastModified = lastModified
        self.coversTotal = coversTotal
    }
}

/// How to ask for what follows a page, in the source's own format. Stored with the page, in the same transaction, so
/// that it is never ahead of its data (R1).
public struct PageCursor: Hashable, Sendable {
    public var text: String

    public init(_ text: String) {
        self.text = text
    }
}

/// A seam inside a page that is believed and not proven: two pages were joined here (G1).
public struct InnerSeam: Hashable, Sendable {
    /// Index in the page of the item behind the seam.
    public var index: Int
    /// Since when its evidence stands.
    public var since: Timestamp

    public init(index: Int, since: Timestamp) {
        self.index = index
        self.since = since
    }
}

/// A page without its items: what is read to decide things.
public struct PageSummary: Hashable, Sendable {
    /// 0-based position of its first item in the list.
    public var offset: Int
    public var count: Int
    /// The life of the list it belongs to. Pages of an older generation are readable but no longer count as held.
    public var generation: Int
    /// The list's revision when it was written or last moved.
    public var revision: Int
    /// Evidence for the seam between its first item and the one before it; pages at offset 0 are `verified`.
    public var evidence: Evidence
    /// Since when that evidence stands.
    public var evidenceAt: Timestamp
    /// The items inside the page that only by inference follow the one before; pages that were joined have them.
    public var innerInferredSeams: [InnerSeam]
    public var fetchedAt: Timestamp
    /// When the origin last confirmed this page; its age is counted from here.
    public var validatedAt: Timestamp
    public var fingerprint: UInt64
    /// The cursor that this page was fetched with; nil for page one and for pages fetched by offset.
    public var cursorIn: PageCursor?
    /// The cursor for what follows; nil at the end, and for origins that take offsets.
    public var cursorOut: PageCursor?
    public var validator: Validator?

    public init(
        offset: Int, count: Int, generation: Int, revision: Int, evidence: Evidence, evidenceAt: Timestamp,
        innerInferredSeams: [InnerSeam] = [], fetchedAt: Timestamp, validatedAt: Timestamp, fingerprint: UInt64, cursorIn: PageCursor?,
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

    /// The positions it holds.
    public var range: Range<Int> { offset..<offset + count }

    /// Whether this page was asked for with the very cursor that the page before it gave: the origin's own word for what comes next.
    public func isReached(from before: PageSummary) -> Bool {
        before.cursorOut != nil && before.cursorOut == cursorIn
    }
}

/// A page to be stored.
public struct PageWrite: Hashable, Sendable {
    public var offset: Int
    public var content: PageContent
    public var evidence: Evidence
    public var cursorIn: PageCursor?
    public var cursorOut: PageCursor?
    public var validator: Validator?

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

    public var range: Range<Int> { offset..<offset + content.count }
}
