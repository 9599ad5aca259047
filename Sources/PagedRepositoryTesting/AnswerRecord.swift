import PageModel
import PagedRepository

/// The answers of a simulated origin so far. Tests compare the items and the verified seams of a cache with them (G1).
struct AnswerRecord: Sendable {
    private struct Pair: Hashable {
        var first: UInt64
        var second: UInt64
    }

    private struct Tag: Hashable {
        var request: String
        var tag: String?
    }

    private var items: Set<RawItem> = []
    /// The identity keys of neighbouring items within one answer.
    private var pairs: Set<Pair> = []
    /// The total that was last reported with each tag.
    private var totals: [Tag: ListTotal] = [:]

    /// Records a page. Returns true when the page contains an identity twice.
    mutating func add(_ page: FetchedPage) -> Bool {
        let keys = page.content.identities.map(\.key)
        items.formUnion(page.content.items)
        for (first, second) in zip(keys, keys.dropFirst()) { pairs.insert(Pair(first: first, second: second)) }
        if let validator = page.validator { totals[tag(validator)] = page.total }
        return Set(keys).count < keys.count
    }

    func has(_ item: RawItem) -> Bool { items.contains(item) }

    func has(_ first: UInt64, before second: UInt64) -> Bool { pairs.contains(Pair(first: first, second: second)) }

    /// The total of the last answer with this validator; `nil` when no answer had it.
    func total(with validator: Validator) -> ListTotal? { totals[tag(validator)] }

    private func tag(_ validator: Validator) -> Tag { Tag(request: validator.request, tag: validator.entityTag) }
}
