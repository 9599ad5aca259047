/// The ids of a page's items, in order; nil where the origin gives none. An id becomes a `String` when somebody looks
/// at it: most who read a page do not.
public struct ItemIDs: RandomAccessCollection, Sendable {
    private let places: [PageContent.Place]
    private let text: [UInt8]

    init(_ places: [PageContent.Place], in text: [UInt8]) {
        self.places = places
        self.text = text
    }

    /// 0: positions are those of items in their page.
    public var startIndex: Int { 0 }
    /// How many items the page has.
    public var endIndex: Int { places.count }

    /// The id of the item at `index`, made anew each time.
    public subscript(index: Int) -> String? {
        withID(at: index) { $0.map { String(decoding: $0, as: UTF8.self) } }
    }

    /// What the id of the item at `index` is at the origin; nil where the item has none.
    public func type(at index: Int) -> IDType? {
        places[index].idWord < 0 ? nil : places[index].idType
    }

    /// A byte for the type of the id of the item at `index`, and the id in UTF-8, for comparing: as texts, two ways to
    /// write one letter are equal, as ids they are not (R5).
    package func bytes(at index: Int) -> [UInt8]? {
        withID(at: index) { id in id.map { [places[index].idType.rawValue] + $0 } }
    }

    /// Calls `body` with the id of the item at `index` in UTF-8; with nil where it has none.
    private func withID<Value>(at index: Int, _ body: (UnsafeRawBufferPointer?) -> Value) -> Value {
        let place = places[index]
        guard place.idWord >= 0 else { return body(nil) }
        return text.withUnsafeBytes {
            body(UnsafeRawBufferPointer(rebasing: $0[place.idStart..<place.idStart + place.idCount]))
        }
    }
}

extension ItemIDs: ExpressibleByArrayLiteral {
    /// Those of a page that has nothing but ids, all of them strings.
    public init(arrayLiteral ids: String?...) {
        self = PageContent(ids.map { Item(payload: [], id: $0) }).ids
    }
}

extension ItemIDs: Hashable {
    /// By type, and byte by byte: two ways to write one letter are two ids.
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
