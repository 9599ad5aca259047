import PageModel
import StorageSupport
import Testing

/// Pages whose items are equal as JSON, and ids that differ only in their type (R5, R6).
@Suite("The same items in a storage")
struct SameItemsTests {
    private func page(_ payloads: [String], ids: [String?]) -> PageContent {
        PageContent(zip(payloads, ids).map { RawItem(payload: Array($0.utf8), id: $1) })
    }

    private func payloads(_ bench: Bench<any PageStorage>) async throws -> [String] {
        try #require(try await bench.store.window(of: bench.query, 0..<100)).parts.flatMap { part in
            (0..<part.content.count).map { String(decoding: part.content.payload(at: $0), as: UTF8.self) }
        }
    }

    private let first = [#"{"a":1,"b":"é"}"#, #"{"a":2,"b":"\/"}"#]
    private let second = [#"{"b":"\u00e9","a":1}"#, #"{ "b":"/", "a":2 }"#]

    @Test(
        "A page that is stored again with equal JSON in other bytes keeps the first bytes",
        arguments: StorageKind.allCases, [["1", "2"], [nil, nil]])
    func agreed(kind: StorageKind, ids: [String?]) async throws {
        let bench = try await Bench(kind)
        try await bench.put(0, page(first, ids: ids))
        let version = try await bench.list.record.version
        let fingerprint = try await bench.list.pages[0].fingerprint
        #expect(try await bench.put(0, page(second, ids: ids)) == .committed(version))
        #expect(try await payloads(bench) == first)
        #expect(try await bench.list.pages.map(\.fingerprint) == [fingerprint])
        let edited = page([second[0], #"{"a":3}"#], ids: ids)
        #expect(try await bench.put(0, edited) == .duplicates([0..<2]))
    }

    @Test(
        "A page with equal items counts as held again in a new generation, and keeps its first bytes (R19)",
        arguments: StorageKind.allCases, [["1", "2"], [nil, nil]])
    func revived(kind: StorageKind, ids: [String?]) async throws {
        let bench = try await Bench(kind)
        try await bench.put(0, page(first, ids: ids))
        try await bench.commit([
            .startGeneration, .insertPage(PageWrite(offset: 0, content: page(second, ids: ids), evidence: .inferred)),
        ])
        #expect(try await payloads(bench) == first)
        #expect(try await bench.list.coverage.segments == [0..<2])
        // The page's hashes still match its bytes.
        let keys = Set(page(first, ids: ids).identities.map(\.key))
        #expect(try await bench.store.locate(keys, in: bench.query).mapValues(\.position).values.sorted() == [0, 1])
    }

    @Test("An item without an id is held once, whatever the order of its members (R5)", arguments: StorageKind.allCases)
    func once(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        try await bench.put(0, page(first, ids: [nil, nil]))
        #expect(try await bench.put(2, page([second[1], "{}"], ids: [nil, nil])) == .duplicates([0..<2]))
        #expect(
            try await bench.put(2, page([#"{"a":3}"#, "{}"], ids: [nil, nil]))
                == .committed(ListVersion(generation: 1, revision: 0)))
    }

    @Test(
        "The number 0 and the string \"0\" are different ids and keep their types (R5)", arguments: StorageKind.allCases
    )
    func types(kind: StorageKind) async throws {
        let bench = try await Bench(kind)
        let items = [RawItem(payload: [1], id: "0", idType: .number), RawItem(payload: [2], id: "0")]
        try await bench.put(0, PageContent(items))
        #expect(try await bench.list.record.allowsDuplicates == false)
        let window = try #require(try await bench.store.window(of: bench.query, 0..<2))
        #expect(window.parts.flatMap { $0.content.items } == items)
        for (type, position) in [(IDType.number, 0), (.string, 1)] {
            let key = ItemIdentity.key(ofID: "0", type: type)
            #expect(try await bench.store.locate([key], in: bench.query)[key]?.position == position)
        }
        #expect(try await bench.put(2, PageContent([items[0]])) == .duplicates([0..<2]))
        // The journal distinguishes the types, too.
        let version = try await bench.list.record.contentVersion
        try await bench.commit([
            .splice(
                0..<2,
                PageWrite(
                    offset: 0, content: PageContent([items[1], RawItem(payload: [3], id: "1", idType: .number)]),
                    evidence: .inferred))
        ])
        guard
            case .entries(let entries, _, _) = try await bench.store.changes(of: bench.query, since: version, limit: 9),
            case .rearranged(let change)? = entries.first?.changes.first
        else { return #expect(Bool(false)) }
        #expect(change.deleted.map(\.item) == [items[0]])
        #expect(change.inserted.map(\.idType) == [.number])
    }
}
