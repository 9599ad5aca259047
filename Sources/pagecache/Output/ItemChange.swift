#if Tool
import PageModel

/// One change of a list's items, as `diff` and `watch --changes` show it. Pure.
struct ItemChange: Equatable {
    enum Kind: String, CaseIterable {
        /// The origin has a new item.
        case inserted
        /// The origin no longer has the item.
        case deleted
        /// The item has another place among its neighbours.
        case moved
        /// The bytes of the item changed.
        case edited
        /// Positions are stored that were missing before.
        case loaded
        /// Positions are no longer stored. The origin may still have their items.
        case dropped
        /// The list started again, and no position is stored any more.
        case replaced
    }

    var kind: Kind
    /// The position: before the change for `deleted`, after it for the others. `nil` for `replaced`.
    var offset: Int?
    /// The earlier position of a moved or edited item.
    var from: Int?
    /// The number of positions. `nil` for `replaced`. For the other kinds, `nil` means all positions from `offset` on.
    var count: Int?
    var id: String?
    var idType = IDType.string
    /// The earlier bytes of a deleted or edited item.
    var before: [UInt8]?
    /// The bytes of the item right after the change. `nil` when neither the journal nor the store has them.
    var item: [UInt8]?
    var at: Timestamp
    /// The version of the list after the change.
    var version: ContentVersion

    /// The changes in a few words: `3 inserted, 2 deleted`.
    static func summary(_ changes: [ItemChange]) -> String {
        let counts = Kind.allCases.compactMap { kind -> String? in
            let some = changes.filter { $0.kind == kind }
            guard !some.isEmpty else { return nil }
            switch kind {
            case .replaced: return "list replaced"
            case .loaded, .dropped:
                let positions = some.reduce(0) { $0 + ($1.count ?? 0) }
                let verb = kind == .loaded ? "loaded" : "no longer stored"
                guard let rest = some.first(where: { $0.count == nil })?.offset else {
                    return "\(SizeText.count(positions, "position", "positions")) \(verb)"
                }
                return "positions from \(SizeText.count(rest)) on \(verb)"
            case .inserted, .deleted, .moved, .edited: return "\(SizeText.count(some.count)) \(kind.rawValue)"
            }
        }
        return counts.isEmpty ? "no change" : counts.joined(separator: ", ")
    }
}

/// One change in every format.
struct ItemChangeRendering {
    let change: ItemChange

    static let csvNames = ["at", "version", "change", "offset", "from", "count", "id", "before", "item"]

    var members: [(String, JSONOutput)] {
        let id: JSONOutput =
            change.id.map { change.idType == .number ? .payload(Array($0.utf8)) : .string($0) } ?? .null
        let values: [JSONOutput] = [
            .time(change.at), .string(VersionText.text(change.version)), .string(change.kind.rawValue),
            .optional(change.offset), .optional(change.from), .optional(change.count), id,
            change.before.map { .payload($0) } ?? .null, change.item.map { .payload($0) } ?? .null,
        ]
        return Array(zip(ItemChangeRendering.csvNames, values))
    }

    /// The sign of the change, as in `diff`.
    private var sign: (text: String, colour: Int) {
        switch change.kind {
        case .inserted: ("+", Colour.fresh)
        case .deleted: ("-", Colour.failing)
        case .moved: (">", Colour.inferred)
        case .edited: ("~", Colour.stale)
        case .loaded: ("+", Colour.missing)
        case .dropped: ("-", Colour.missing)
        case .replaced: ("!", Colour.old)
        }
    }

    /// One line for people: sign, position, id and item. Control characters are made visible (R46).
    /// - Parameter width: the columns of the terminal. `Int.max` without a terminal.
    func line(width: Int, colour: (Int, String) -> String = { $1 }) -> String {
        let text = TextWidth.cut(Printable.text("\(sign.text) \(rest)"), to: width)
        return colour(sign.colour, text)
    }

    private var rest: String {
        let offset = SizeText.count(change.offset ?? 0)
        switch change.kind {
        case .inserted, .deleted: return named(offset)
        case .moved: return named("\(SizeText.count(change.from ?? 0)) → \(offset)")
        case .edited:
            return named(change.from == change.offset ? offset : "\(SizeText.count(change.from ?? 0)) → \(offset)")
        case .loaded, .dropped:
            let verb = change.kind == .loaded ? "loaded" : "no longer stored"
            guard let count = change.count else { return "\(offset)…  \(verb)" }
            let last = SizeText.count((change.offset ?? 0) + count - 1)
            return count == 1 ? "\(offset)  \(verb)" : "\(offset)–\(last)  \(verb)"
        case .replaced: return "the origin has another list; no position is stored any more"
        }
    }

    private func named(_ place: String) -> String {
        let shown = change.item ?? change.before
        let payload = shown.map { String(decoding: $0, as: UTF8.self).replacing(/\s+/, with: " ") }
        return [place, change.id, payload].compactMap { $0 }.joined(separator: "  ")
    }
}
#endif
