/// The items of one page: their ids, and their payloads in one buffer, byte for byte as the origin sent them (R7).
public struct PageContent: Sendable {
    /// The location of an item in the buffers.
    package struct Place: Sendable {
        /// The end of its payload in `bytes`. The payload begins at the end of the previous one; the first begins at 0.
        package var end: Int
        /// The start of its id in `text`. For an item without an id, its key instead, or 0 if the key has not been
        /// computed.
        package var idStart: Int
        /// Twice the number of bytes of its id, plus 1 if the id is a number; -1 for an item without an id.
        package var idWord: Int

        /// The number of bytes of its id; below 0 for an item without an id.
        package var idCount: Int { idWord >> 1 }
        package var idType: IDType { idWord & 1 == 0 ? .string : .number }

        package init(end: Int, idStart: Int, idWord: Int) {
            self.end = end
            self.idStart = idStart
            self.idWord = idWord
        }
    }

    /// All payloads, one after the other.
    public private(set) var bytes: [UInt8]
    /// One location for each item.
    package private(set) var places: [Place]
    /// The ids in UTF-8. There may be other bytes between them.
    package private(set) var text: [UInt8]

    /// A page without items.
    public init() {
        bytes = []
        places = []
        text = []
    }

    /// A page of these items.
    public init(_ items: [RawItem]) {
        self.init()
        for item in items {
            append(item.payload[...], id: item.id, type: item.idType)
        }
    }

    /// A page from its parts; `nil` when they do not fit together.
    /// - Parameters:
    ///   - bytes: all payloads, one after the other.
    ///   - ends: the end of each payload; the first payload begins at 0.
    ///   - ids: the id of each item, as a string; `nil` for an item without an id.
    public init?(bytes: [UInt8], ends: [Int], ids: [String?]) {
        guard ends.count == ids.count, (ends.last ?? 0) == bytes.count else { return nil }
        self.bytes = bytes
        places = []
        text = []
        places.reserveCapacity(ends.count)
        var start = 0
        for (end, id) in zip(ends, ids) {
            guard end >= start else { return nil }
            addPlace(start..<end, id: id, .string)
            start = end
        }
    }

    /// A page from stored parts, which have to fit together: `end` ascends, the last `end` is the size of `bytes`, and
    /// ids lie within `text`.
    package init(bytes: [UInt8], places: [Place], text: [UInt8]) {
        self.bytes = bytes
        self.places = places
        self.text = text
    }

    /// A page without items, with reserved capacity for this many items and this many bytes of payloads.
    package init(roomForItems items: Int, bytes: Int) {
        self.init()
        self.bytes.reserveCapacity(bytes)
        places.reserveCapacity(items)
    }

    /// The number of items.
    public var count: Int { places.count }
    /// Whether the page has no items.
    public var isEmpty: Bool { places.isEmpty }
    /// The id of each item; `nil` for an item without an id.
    public var ids: ItemIDs { ItemIDs(places, in: text) }

    /// Appends an item.
    /// - Parameters:
    ///   - payload: its bytes, unchanged.
    ///   - id: its id; `nil` if the origin gives none.
    ///   - type: the type of the id at the origin. Defaults to a string.
    public mutating func append(_ payload: ArraySlice<UInt8>, id: String?, type: IDType = .string) {
        let start = bytes.count
        bytes.append(contentsOf: payload)
        addPlace(start..<bytes.count, id: id, type)
    }

    /// Appends an item with an id in UTF-8.
    /// - Parameters:
    ///   - payload: its bytes, unchanged.
    ///   - id: the text of its id, which has to be valid UTF-8.
    ///   - type: the type of the id at the origin.
    package mutating func append(
        _ payload: UnsafeBufferPointer<UInt8>, id: UnsafeBufferPointer<UInt8>, type: IDType
    ) {
        bytes.append(contentsOf: payload)
        let start = text.count
        text.append(contentsOf: id)
        places.append(Place(end: bytes.count, idStart: start, idWord: id.count << 1 | Int(type.rawValue)))
    }

    /// Adds the place of an item whose payload is in `bytes` already.
    /// - Parameter range: the range of the payload in `bytes`.
    private mutating func addPlace(_ range: Range<Int>, id: String?, _ type: IDType) {
        guard let id else {
            let key = bytes.withUnsafeBytes { ItemIdentity.key(of: UnsafeRawBufferPointer(rebasing: $0[range])) }
            return places.append(Place(end: range.upperBound, idStart: Int(bitPattern: UInt(key)), idWord: -1))
        }
        let start = text.count
        text.append(contentsOf: id.utf8)
        let word = (text.count - start) << 1 | Int(type.rawValue)
        places.append(Place(end: range.upperBound, idStart: start, idWord: word))
    }

    /// Returns the payload of the item at `index`, without a copy.
    public func payload(at index: Int) -> ArraySlice<UInt8> {
        bytes[byteRange(of: index)]
    }

    /// Returns the range in `bytes` of the payload of the item at `index`.
    public func byteRange(of index: Int) -> Range<Int> {
        (index == 0 ? 0 : places[index - 1].end)..<places[index].end
    }

    /// Returns the items at `range` as a page of their own.
    public func slice(_ range: Range<Int>) -> PageContent {
        if range == 0..<count { return self }
        var part = PageContent()
        part.append(range, of: self)
        return part
    }

    /// Appends the items of `other`.
    public mutating func append(contentsOf other: PageContent) {
        append(0..<other.count, of: other)
    }

    mutating func append(_ range: Range<Int>, of other: PageContent) {
        guard !range.isEmpty else { return }
        let begins = other.byteRange(of: range.lowerBound).lowerBound
        let moved = bytes.count - begins
        bytes.append(contentsOf: other.bytes[begins..<other.places[range.upperBound - 1].end])
        // Only the first part reserves its exact capacity. Further parts rely on the array's geometric growth.
        if places.isEmpty { places.reserveCapacity(range.count) }
        for place in other.places[range] {
            let start = place.idWord < 0 ? place.idStart : text.count
            if place.idCount > 0 { text.append(contentsOf: other.text[place.idStart..<place.idStart + place.idCount]) }
            places.append(Place(end: place.end + moved, idStart: start, idWord: place.idWord))
        }
    }

    /// The items, each with a copy of its payload.
    public var items: [RawItem] {
        (0..<count).map { item(at: $0) }
    }

    /// Returns the item at `index`, with a copy of its payload.
    package func item(at index: Int) -> RawItem {
        RawItem(payload: Array(payload(at: index)), id: ids[index], idType: places[index].idType)
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
                    guard place.idWord >= 0 else {
                        let known = UInt64(UInt(bitPattern: place.idStart))
                        let key = known == 0 ? ItemIdentity.key(of: payload) : known
                        return ItemIdentity(key: key, content: content)
                    }
                    let id = UnsafeRawBufferPointer(rebasing: text[place.idStart..<place.idStart + place.idCount])
                    return ItemIdentity(key: ItemIdentity.key(ofID: id, place.idType), content: content)
                }
            }
        }
    }

    /// A hash of all items and ids. Equal fingerprints mean an unchanged page (R6).
    public var fingerprint: UInt64 {
        PageContent.fingerprint(of: identities)
    }

    /// Returns the fingerprint of a page with these identities.
    public static func fingerprint(of identities: [ItemIdentity]) -> UInt64 {
        // Each identity is hashed as its two words in memory. Every platform of Swift is little-endian.
        identities.withUnsafeBytes { XXH64.hash($0, seed: UInt64(identities.count)) }
    }
}

extension PageContent: Hashable {
    /// Compares the bytes and the ids of all items.
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

/// One item: its payload, byte for byte as the origin sent it, and its id if it has one.
public struct RawItem: Hashable, Sendable {
    /// The bytes of the item, exactly as the origin sent them (R7).
    public var payload: [UInt8]
    /// The id of the item at the origin; `nil` if the origin gives none.
    public var id: String?
    /// The type of its id at the origin; `string` for an item without an id.
    public var idType: IDType

    /// An item of these bytes.
    /// - Parameters:
    ///   - payload: its bytes.
    ///   - id: its id. Defaults to `nil`, no id.
    ///   - idType: the type of its id at the origin. Defaults to a string.
    public init(payload: [UInt8], id: String? = nil, idType: IDType = .string) {
        self.payload = payload
        self.id = id
        self.idType = id == nil ? .string : idType
    }
}

/// Two hashes that identify an item without its payload: a key, and a content hash that changes when the item is
/// edited.
public struct ItemIdentity: Hashable, Sendable {
    /// Hash of the item's id and of the id's type. For an item without an id, hash of its payload. An array, an object
    /// or a string is hashed as JSON, independent of the order of members. Any other payload is hashed by its bytes.
    public var key: UInt64
    /// Hash of the payload's bytes.
    public var content: UInt64

    private static let idSeed: UInt64 = 0x69_64

    /// An identity of these hashes.
    public init(key: UInt64, content: UInt64) {
        self.key = key
        self.content = content
    }

    /// Returns the key of an item whose id is this string.
    public static func key(ofID id: String) -> UInt64 { key(ofID: id, type: .string) }

    /// Returns the key of an item with this id.
    /// - Parameters:
    ///   - id: the text of the id.
    ///   - type: the type of the id at the origin.
    public static func key(ofID id: String, type: IDType) -> UInt64 {
        XXH64.hash(id, seed: seed(type))
    }

    /// Returns the content hash of an item with this payload.
    package static func content(of payload: UnsafeRawBufferPointer) -> UInt64 { XXH3.hash(payload) }

    /// Returns the key of an item without an id that has this payload.
    static func key(of payload: UnsafeRawBufferPointer) -> UInt64 {
        JSONDigest.hash(of: payload) ?? content(of: payload)
    }

    /// Returns the key of an item with this id in UTF-8.
    static func key(ofID id: UnsafeRawBufferPointer, _ type: IDType) -> UInt64 {
        XXH64.hash(id, seed: seed(type))
    }

    /// The seed for hashing an id: it contains a byte for the id's type.
    private static func seed(_ type: IDType) -> UInt64 { idSeed << 8 | UInt64(type.rawValue) }
}
