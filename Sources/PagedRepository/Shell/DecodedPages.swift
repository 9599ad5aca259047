import PageModel

/// A page in the form in which callers use it. Every snapshot that holds the page shares its values.
struct DecodedPage<Value: Sendable>: Sendable {
    /// The items that decode, in order.
    var values: [Value] = []
    /// Indices, in the page, of those that do not, ascending.
    var unusable: [Int] = []

    var count: Int { values.count + unusable.count }

    /// The values that stand one behind the other, and the index of the first of each such stretch.
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

/// Pages in the form in which callers use them, as many as fit into a budget of payload bytes: decoding a page costs
/// more than reading it.
///
/// A page is known by its list and the hash of everything in it, so what is found here is what is stored, wherever in
/// the list it has moved.
typealias DecodedPages<Value: Sendable> = BoundedCache<DecodedPageKey, DecodedPage<Value>>

struct DecodedPageKey: Hashable {
    var query: QueryID
    var fingerprint: UInt64
    var count: Int
}
