import PageModel
import PagedRepository

/// What a simulated origin has given so far: the measure of G1, that nothing is made up.
struct AnswerRecord: Sendable {
    private struct Pair: Hashable {
        var first: UInt64
        var second: UInt64
    }

    private struct Tag: Hashable {
        var request: String
        var tag: String?
    }

    private var items: Set<Item> = []
    /// Identity keys of neighbours within one answer.
    private var pairs: Set<Pair> = []
    /// What was last told of the list's length with each tag.
    private var totals: [Tag: Total] = [:]

    /// True when the page gives an identity twice.
    mutating func add(_ page: FetchedPage) -> Bool {
        let keys = page.content.identities.map(\.key)
        items.formUnion(page.content.items)
        for (first, second) in zip(keys, keys.dropFirst()) { pairs.insert(Pair(first: first, second: second)) }
        if let validator = page.validator { totals[tag(validator)] = page.total }
        return Set(keys).count < keys.count
    }

    func has(_ item: Item) -> Bool { items.contains(item) }

    func has(_ first: UInt64, before second: UInt64) -> Bool { pairs.contains(Pair(first: first, second: second)) }

    /// The total of the last answer with this validator; nil when it was never given.
    func total(with validator: Validator) -> Total? { totals[tag(validator)] }

    private func tag(_ validator: Validator) -> Tag { Tag(request: validator.request, tag: validator.entityTag) }
}
