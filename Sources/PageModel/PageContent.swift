/// The items of one page: their payloads in one buffer, byte for byte as the origin sent them (R7), and their ids.
public struct PageContent: Hashable, Sendable {
    /// All payloads, one behind the other.
    public private(set) var bytes: [UInt8]
    /// Where each payload ends in `bytes`; the first starts at 0.
    public private(set) var ends: [Int]
    /// The id of each item, where the origin gives one.
    public private(set) var ids: [String?]

    /// A page without items.
    public init() {
        bytes = []
        ends = []
        ids = []
    }

    /// A page of these items.
    public init(_ items: [Item]) {
        self.init()
        for item in items {
            append(item.payload[...], id: item.id)
        }
    }

    /// A page from its stored parts; nil when they do not fit together.
    public init?(bytes: [UInt8], ends: [Int], ids: [String?]) {
        guard ends.count == ids.count, (ends.last ?? 0) == bytes.count else { return nil }
        var start = 0
        for end in ends {
            guard end >= start else { return nil }
            start = end
        }
        self.bytes = bytes
        self.ends = ends
        self.ids = ids
    }

    /// How many items it has.
    public var count: Int { ends.count }
    /// Whether it has no items.
    public var isEmpty: Bool { ends.isEmpty }

    /// Adds an item behind the last one.
    /// - Parameters:
    ///   - payload: its bytes, as they are.
    ///   - id: what tells it apart; nil where the origin has no ids.
    public mutating func append(_ payload: ArraySlice<UInt8>, id: String?) {
        bytes.append(contentsOf: payload)
        ends.append(bytes.count)
        ids.append(id)
    }

    /// The payload of the item at `index`, without a copy.
    public func payload(at index: Int) -> ArraySlice<UInt8> {
        bytes[byteRange(of: index)]
    }

    /// Where in `bytes` the payload of the item at `index` lies.
    public func byteRange(of index: Int) -> Range<Int> {
        (index == 0 ? 0 : ends[index - 1])..<ends[index]
    }

    /// The items at `range` as a page of their own.
    public func slice(_ range: Range<Int>) -> PageContent {
        if range == 0..<count { return self }
        var part = PageContent()
        for index in range {
            part.append(payload(at: index), id: ids[index])
        }
        return part
    }

    /// These items followed by those of `other`.
    public mutating func append(contentsOf other: PageContent) {
        for index in 0..<other.count {
            append(other.payload(at: index), id: other.ids[index])
        }
    }

    /// The items, each with a copy of its payload.
    public var items: [Item] {
        (0..<count).map { Item(payload: Array(payload(at: $0)), id: ids[$0]) }
    }

    /// The identity of each item, in order.
    public var identities: [ItemIdentity] {
        bytes.withUnsafeBytes { buffer in
            var start = 0
            return zip(ends, ids).map { end, id in
                let content = XXH64.hash(UnsafeRawBufferPointer(rebasing: buffer[start..<end]), seed: ItemIdentity.contentSeed)
                start = end
                return ItemIdentity(id: id, content: content)
            }
        }
    }

    /// A hash of everything in the page: equal fingerprints mean an unchanged page (R6).
    public var fingerprint: UInt64 {
        PageContent.fingerprint(of: identities)
    }

    /// The fingerprint of a page with these identities.
    public static func fingerprint(of identities: [ItemIdentity]) -> UInt64 {
        // Two words each, as they lie in memory: every platform of Swift is little-endian.
        identities.withUnsafeBytes { XXH64.hash($0, seed: UInt64(identities.count)) }
    }
}

/// One item: payload bytes exactly as the origin sent them, and its id where it has one.
public struct Item: Hashable, Sendable {
    /// Its bytes, exactly as the origin sent them (R7).
    public var payload: [UInt8]
    /// What the origin tells it apart by; nil where it does not.
    public var id: String?

    /// An item of these bytes.
    public init(payload: [UInt8], id: String? = nil) {
        self.payload = payload
        self.id = id
    }
}

/// What tells items apart without looking at payloads: a hash of the id (or of the content, where there is no id),
/// and a hash of the content, which changes when the item is edited.
public struct ItemIdentity: Hashable, Sendable {
    /// Hash of the item's id; of its content when it has none.
    public var key: UInt64
    /// Hash of the item's payload.
    public var content: UInt64

    static let contentSeed: UInt64 = 0x636f_6e74_656e_74
    private static let idSeed: UInt64 = 0x69_64

    /// An identity of these hashes.
    public init(key: UInt64, content: UInt64) {
        self.key = key
        self.content = content
    }

    /// The identity of an item with this id and content hash.
    public init(id: String?, content: UInt64) {
        self.content = content
        key = id.map { XXH64.hash($0, seed: ItemIdentity.idSeed) } ?? content
    }

    /// The key of an item with this id.
    public static func key(ofID id: String) -> UInt64 {
        XXH64.hash(id, seed: idSeed)
    }
}
