import PageModel

/// A page in the form in which callers use it. All snapshots that contain the page share its values.
struct DecodedPage<Value: Sendable>: Sendable {
    /// The values of the items that can be decoded, in order.
    var values: [Value] = []
    /// The indices in the page of items that cannot be decoded, ascending.
    var unusable: [Int] = []

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
}

/// Decoded pages, limited by a budget of payload bytes. Decoding a page costs more than reading it.
///
/// A page is identified by its query and the fingerprint of its items. So a cached page equals the stored one, even
/// after it has moved in the list.
typealias DecodedPages<Value: Sendable> = BoundedCache<DecodedPageKey, DecodedPage<Value>>

struct DecodedPageKey: Hashable {
    var query: QueryID
    var fingerprint: UInt64
    var count: Int
}
