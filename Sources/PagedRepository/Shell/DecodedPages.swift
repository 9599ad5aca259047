import PageModel

/// A page with decoded values. All snapshots that contain the page share the values.
struct DecodedPage<Value: Sendable>: Sendable {
    /// The values of the items that are shown, in order.
    var values: [Value] = []
    /// The indices in the page of items without a value, ascending.
    var unusable: [Int] = []
    /// The indices in the page of items that do not decode, ascending. With a placeholder, such an item has a value.
    var undecodable: [Int] = []
    /// The identities of the items that do not decode, in the order of `undecodable`.
    var undecodableIdentities: [ItemIdentity] = []
    /// Whether the bytes of the page are damaged, so that no item has a value.
    var isDamaged = false

    var count: Int { values.count + unusable.count }

    /// The groups of consecutive values, each with the index of its first value in the page.
    var stretches: [(index: Int, values: [Value])] {
        if unusable.isEmpty { return values.isEmpty ? [] : [(0, values)] }
        var stretches: [(index: Int, values: [Value])] = []
        var index = 0
        var taken = 0
        for end in unusable + [count] {
            if end > index { stretches.append((index, Array(values[taken..<taken + end - index]))) }
            taken += end - index
            index = end + 1
        }
        return stretches
    }

    /// Returns the part of the page before an index.
    func prefix(_ length: Int) -> DecodedPage {
        guard length < count else { return self }
        var part = self
        part.unusable.removeAll { $0 >= length }
        part.undecodable.removeAll { $0 >= length }
        part.undecodableIdentities.removeLast(undecodable.count - part.undecodable.count)
        part.values.removeLast(values.count - (length - part.unusable.count))
        return part
    }
}

/// A held item that does not decode.
struct UndecodableItem: Hashable, Sendable {
    var position: Int
    var identity: ItemIdentity
}

extension [UndecodableItem] {
    /// The positions of the items as ranges. The items must be in order of position.
    var ranges: [Range<Int>] { reduce(into: []) { $0.append(position: $1.position) } }
}

/// A cache of decoded pages, limited by a budget of payload bytes. Decoding a page costs more than reading the page.
///
/// A page is identified by its query and the fingerprint of its items. So a cached page equals the stored one, even
/// after the stored page has moved in the list.
typealias DecodedPages<Value: Sendable> = BoundedCache<DecodedPageKey, DecodedPage<Value>>

/// The decoded pages of a published snapshot, which shares their values.
typealias ShownPages<Value: Sendable> = [DecodedPageKey: DecodedPage<Value>]

struct DecodedPageKey: Hashable {
    var query: QueryID
    var fingerprint: UInt64
    var count: Int
}
