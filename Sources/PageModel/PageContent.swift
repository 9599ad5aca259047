/// The items of one page: their payloads in one buffer, byte for byte as the origin sent them (R7), and their ids.
public struct PageContent: Sendable {
    /// Where an item lies.
    package struct Place: Sendable {
        /// Where its payload ends in `bytes`; it begins where the one before ends, and the first at 0.
        package var end: Int
        /// Where its id begins in `text`.
        package var idStart: Int
        /// Bytes of its id; below 0 where it has none.
        package var idCount: Int

        package init(end: Int, idStart: Int, idCount: Int) {
            self.end = end
            self.idStart = idStart
            self.idCount = idCount
        }
    }

    /// All payloads, one behind the other.
    public private(set) var bytes: [UInt8]
    /// One for each item.
    package private(set) var places: [Place]
    /// The ids, in UTF-8, and whatever else lies between them.
    package private(set) var text: [UInt8]

    /// A page without items.
    public init() {
        bytes = []
        places = []
        text = []
    }

    /// A page of these items.
    public init(_ items: [Item]) {
        self.init()
        for item in items {
            append(item.payload[...], id: item.id)
        }
    }

    /// A page from its parts; nil when they do not fit together.
    /// - Parameters:
    ///   - bytes: all payloads, one behind the other.
    ///   - ends: where each of them ends; the first starts at 0.
    ///   - ids: of each item; nil where the origin has none.
    public init?(bytes: [UInt8], ends: [Int], ids: [String?]) {
        guard ends.count == ids.count, (ends.last ?? 0) == bytes.count else { return nil }
        self.bytes = bytes
        places = []
        text = []
        places.reserveCapacity(ends.count)
        var start = 0
        for (end, id) in zip(ends, ids) {
            guard end >= start else { return nil }
            start = end
            addPlace(end: end, id: id)
        }
    }

    /// A page from its stored parts, which fit together: ends ascend, the last is that of `bytes`, and ids lie within
    /// `text`.
    package init(bytes: [UInt8], places: [Place], text: [UInt8]) {
        self.bytes = bytes
        self.places = places
        self.text = text
    }

    /// A page without items, with room for so many, and for so many bytes of payloads.
    package init(roomForItems items: Int, bytes: Int) {
        self.init()
        self.bytes.reserveCapacity(bytes)
        places.reserveCapacity(items)
    }

    /// How many items it has.
    public var count: Int { places.count }
    /// Whether it has no items.
    public var isEmpty: Bool { places.isEmpty }
    /// The id of each item, where the origin gives one.
    public var ids: ItemIDs { ItemIDs(places, in: text) }

    /// Adds an item behind the last one.
    /// - Parameters:
    ///   - payload: its bytes, as they are.
    ///   - id: what tells it apart; nil where the origin has no ids.
    public mutating func append(_ payload: ArraySlice<UInt8>, id: String?) {
        bytes.append(contentsOf: payload)
        addPlace(end: bytes.count, id: id)
    }

    private mutating func addPlace(end: Int, id: String?) {
        let start = text.count
        if let id { text.append(contentsOf: id.utf8) }
        places.append(Place(end: end, idStart: start, idCount: id == nil ? -1 : text.count - start))
    }

    /// The payload of the item at `index`, without a copy.
    public func payload(at index: Int) -> ArraySlice<UInt8> {
        bytes[byteRange(of: index)]
    }

    /// Where in `bytes` the payload of the item at `index` lies.
    public func byteRange(of index: Int) -> Range<Int> {
        (index == 0 ? 0 : places[index - 1].end)..<places[index].end
    }

    /// The items at `range` as a page of their own.
    public func slice(_ range: Range<Int>) -> PageContent {
        if range == 0..<count { return self }
        var part = PageContent()
        part.append(range, of: self)
        return part
    }

    /// These items followed by those of `other`.
    public mutating func append(contentsOf other: PageContent) {
        append(0..<other.count, of: other)
    }

    private mutating func append(_ range: Range<Int>, of other: PageContent) {
        guard !range.isEmpty else { return }
        let begins = other.byteRange(of: range.lowerBound).lowerBound
        let moved = bytes.count - begins
        bytes.append(contentsOf: other.bytes[begins..<other.places[range.upperBound - 1].end])
        // Only once: what is joined part by part has to grow by more than it needs.
        if places.isEmpty { places.reserveCapacity(range.count) }
        for place in other.places[range] {
            let start = text.count
            if place.idCount > 0 { text.append(contentsOf: other.text[place.idStart..<place.idStart + place.idCount]) }
            places.append(Place(end: place.end + moved, idStart: start, idCount: place.idCount))
        }
    }

    /// The items, each with a copy of its payload.
    public var items: [Item] {
        (0..<count).map { Item(payload: Array(payload(at: $0)), id: ids[$0]) }
    }

    /// The identity of each item, in order.
    public var identities: [ItemIdentity] {
        bytes.withUnsafeBytes { buffer in
            text.withUnsafeBytes { text in
                var start = 0
                return places.map { place in
                    let payload = UnsafeRawBufferPointer(rebasing: buffer[start..<place.end])
                    start = place.end
                    let content = ItemIdentity.content(of: payload)
                    guard place.idCount >= 0 else { return ItemIdentity(key: content, content: content) }
                    let id = UnsafeRawBufferPointer(rebasing: text[place.idStart..<place.idStart + place.idCount])
                    return ItemIdentity(key: ItemIdentity.key(ofID: id), content: content)
                }
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

extension PageContent: Hashable {
    /// The same items, byte by byte, and the same ids.
    public static func == (one: PageContent, other: PageContent) -> Bool {
        one.bytes == other.bytes && one.places.elementsEqual(other.places) { $0.end == $1.end } && one.ids == other.ids
    }

    /// Feeds payloads and ids to `hasher`.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(bytes)
        for place in places { hasher.combine(place.end) }
        hasher.combine(ids)
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

    /// The content hash of an item with this payload.
    package static func content(of payload: UnsafeRawBufferPointer) -> UInt64 { XXH3.hash(payload) }

    /// The key of an item with this id in UTF-8.
    static func key(ofID id: UnsafeRawBufferPointer) -> UInt64 {
        XXH64.hash(id, seed: idSeed)
    }
}
