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

    /// A validator; each parameter is the property of its name.
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
    /// What it says, which only the source reads. Never holds secrets (R45).
    public var text: String

    /// A cursor of this text.
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

    /// A seam; each parameter is the property of its name.
    public init(index: Int, since: Timestamp) {
        self.index = index
        self.since = since
    }
}

/// A page without its items: what is read to decide things.
public struct PageSummary: Hashable, Sendable {
    /// 0-based position of its first item in the list.
    public var offset: Int
    /// How many items it has; a page without items holds no position.
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
    /// When its items came.
    public var fetchedAt: Timestamp
    /// When the origin last confirmed this page; its age is counted from here.
    public var validatedAt: Timestamp
    /// A hash of its items and their ids: equal ones mean an unchanged page (R6). See `PageContent.fingerprint`.
    public var fingerprint: UInt64
    /// The cursor that this page was fetched with; nil for page one and for pages fetched by offset.
    public var cursorIn: PageCursor?
    /// The cursor for what follows; nil at the end, and for origins that take offsets.
    public var cursorOut: PageCursor?
    /// What its request is validated with; nil where the origin gave nothing, and since the page was moved (R1).
    public var validator: Validator?

    /// A summary; each parameter is the property of its name.
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

    /// The positions it holds.
    public var range: Range<Int> { offset..<offset + count }

    /// Whether this page was asked for with the very cursor that the page before it gave: the origin's own word for
    /// what comes next.
    public func isReached(from before: PageSummary) -> Bool {
        before.cursorOut != nil && before.cursorOut == cursorIn
    }
}

/// A page to be stored.
public struct PageWrite: Hashable, Sendable {
    /// 0-based position of its first item.
    public var offset: Int
    /// Its items.
    public var content: PageContent
    /// Why its first item is believed to follow the one before it.
    public var evidence: Evidence
    /// The cursor that it was fetched with; nil for page one and for pages fetched by offset.
    public var cursorIn: PageCursor?
    /// The cursor for what follows; nil at the end, and for origins that take offsets.
    public var cursorOut: PageCursor?
    /// What its request can be validated with; nil where the origin gave nothing.
    public var validator: Validator?

    /// A page to be stored; each parameter is the property of its name.
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

    /// The positions that it will hold.
    public var range: Range<Int> { offset..<offset + content.count }
}
