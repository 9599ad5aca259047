/// The ids of a page's items, in order. An element is `nil` if the origin gives the item no id. Each access creates the
/// `String` again, because most readers of a page never use the ids.
public struct ItemIDs: RandomAccessCollection, Sendable {
    private let places: [PageContent.Place]
    private let text: [UInt8]

    init(_ places: [PageContent.Place], in text: [UInt8]) {
        self.places = places
        self.text = text
    }

    /// Always 0: an index is the index of an item in its page.
    public var startIndex: Int { 0 }
    /// The number of items in the page.
    public var endIndex: Int { places.count }

    /// Returns the id of the item at `index`, or nil if the item has none. Each access creates the string again.
    public subscript(index: Int) -> String? {
        withID(at: index) { $0.map { String(decoding: $0, as: UTF8.self) } }
    }

    /// Returns the type of the id of the item at `index`, or nil if the item has no id.
    public func type(at index: Int) -> IDType? {
        places[index].idWord < 0 ? nil : places[index].idType
    }

    /// Returns a byte for the type of the id of the item at `index`, followed by the id in UTF-8. Ids are compared by
    /// these bytes (R5): `String` equality would treat two Unicode spellings of one letter as equal.
    package func bytes(at index: Int) -> [UInt8]? {
        withID(at: index) { id in id.map { [places[index].idType.rawValue] + $0 } }
    }

    /// Calls `body` with the id of the item at `index` in UTF-8, or with `nil` for an item without an id.
    private func withID<Value>(at index: Int, _ body: (UnsafeRawBufferPointer?) -> Value) -> Value {
        let place = places[index]
        guard place.idWord >= 0 else { return body(nil) }
        return text.withUnsafeBytes {
            body(UnsafeRawBufferPointer(rebasing: $0[place.idStart..<place.idStart + place.idCount]))
        }
    }
}

extension ItemIDs: ExpressibleByArrayLiteral {
    /// The ids of a page without payloads. All ids are strings.
    public init(arrayLiteral ids: String?...) {
        self = PageContent(ids.map { RawItem(payload: [], id: $0) }).ids
    }
}

extension ItemIDs: Hashable {
    /// Compares the types and bytes of the ids: two Unicode spellings of one letter are two ids.
    public static func == (one: ItemIDs, other: ItemIDs) -> Bool {
        guard one.count == other.count else { return false }
        return one.indices.allSatisfy { index in
            one.type(at: index) == other.type(at: index)
                && one.withID(at: index) { mine in
                    other.withID(at: index) { theirs in
                        guard let mine, let theirs else { return mine == nil && theirs == nil }
                        return mine.elementsEqual(theirs)
                    }
                }
        }
    }

    /// Feeds the ids to `hasher`.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(count)
        for index in indices {
            withID(at: index) { id in
                hasher.combine(places[index].idWord)
                if let id { hasher.combine(bytes: id) }
            }
        }
    }
}
