import PageModel
import Testing

@Suite("XXH64")
struct XXH64Tests {
    // Vectors computed with `xxh64sum` 0.8.1 and python-xxhash on the same inputs.
    @Test("XXH64 agrees with the reference implementation for every path of the algorithm")
    func vectors() {
        #expect(XXH64.hash("") == 0xef46_db37_51d8_e999)
        #expect(XXH64.hash("a") == 0xd24e_c4f1_a98c_6e5b)
        #expect(XXH64.hash("abc") == 0x44bc_2cf5_ad77_0999)
        #expect(XXH64.hash("Nobody inspects the spammish repetition") == 0xfbce_a83c_8a37_8bf1)
    }

    @Test("A flipped bit anywhere changes the XXH64 hash")
    func flips() {
        let bytes = (0..<97).map { UInt8($0) }
        let hash = XXH64.hash(bytes)
        for index in bytes.indices {
            for bit in 0..<8 {
                var flipped = bytes
                flipped[index] ^= 1 << bit
                #expect(XXH64.hash(flipped) != hash)
            }
        }
    }
}

@Suite("XXH3")
struct XXH3Tests {
    private let bytes = (0..<30_000).map { UInt8(truncatingIfNeeded: $0 * 7 + ($0 >> 8) * 13) }

    private func hash(_ range: Range<Int>) -> UInt64 {
        bytes[range].withUnsafeBytes { XXH3.hash($0) }
    }

    // Vectors computed with libxxhash 0.8.1 on the same inputs.
    @Test("XXH3 agrees with the reference implementation on both sides of every length at which its path changes")
    func vectors() {
        let expected: [(length: Int, hash: UInt64)] = [
            (0, 0x2d06_8005_38d3_94c2), (1, 0xc44b_dff4_074e_ecdb), (3, 0xc348_9259_e968_ad9e),
            (4, 0xd3d6_0c15_1901_4e89), (8, 0xb88d_ee77_f6bf_6980), (9, 0x0368_8dca_d730_d826),
            (16, 0x9da2_3836_adf2_be1e), (17, 0xf34c_3c9c_f5a1_12d1), (128, 0x65f3_c2c0_0fa9_3185),
            (129, 0x2806_5c6e_c25f_5b25), (240, 0x4917_a75c_0ef8_eed7), (241, 0x541b_1922_6f00_52e8),
            (512, 0xbb93_b415_b727_2611), (1024, 0xcbeb_9f3a_1aec_cda2), (1025, 0xd958_59be_d319_3f4f),
            (1089, 0x1c8e_50f7_6b5c_dc7d), (25000, 0x48ff_8bd1_0889_068f),
        ]
        for (length, hash) in expected { #expect(self.hash(0..<length) == hash, "\(length) bytes") }
    }

    @Test("XXH3 agrees with the reference implementation for every length up to three blocks, at any alignment")
    func everyLength() {
        var all: UInt64 = 0
        for length in 0...3_000 { all = (all << 1 | all >> 63) ^ hash(length % 17..<length % 17 + length) }
        #expect(all == 0x07b1_5b05_a9b3_3342)
    }

    @Test("A flipped bit anywhere changes the XXH3 hash", arguments: [1, 3, 8, 16, 100, 200, 300, 1_100])
    func flips(length: Int) {
        let original = hash(0..<length)
        var flipped = Array(bytes[..<length])
        for index in flipped.indices {
            for bit in 0..<8 {
                flipped[index] ^= 1 << bit
                #expect(flipped.withUnsafeBytes { XXH3.hash($0) } != original)
                flipped[index] ^= 1 << bit
            }
        }
    }
}

@Suite("Coverage")
struct CoverageTests {
    @Test("Adjacent pages form one segment, and the positions between segments are a gap")
    func runsAndGaps() {
        let coverage = Coverage([50..<100, 0..<50, 200..<210, 300..<300])
        #expect(coverage.segments == [0..<100, 200..<210])
        #expect(coverage.headEnd == 100)
        #expect(coverage.gaps(below: 250) == [100..<200, 210..<250])
        #expect(coverage.gaps(below: 205) == [100..<200])
        #expect(coverage.gaps(in: 90..<120) == [100..<120])
    }

    @Test(
        "Three ranges of any order and kind cover exactly the positions that any of them contains, in the fewest segments"
    )
    func anyOrder() {
        let ranges = (0...6).flatMap { start in (start...6).map { start..<$0 } }
        for first in ranges {
            for second in ranges {
                for third in ranges {
                    let segments = Coverage([first, second, third]).segments
                    let held = (0..<6).filter { first.contains($0) || second.contains($0) || third.contains($0) }
                    #expect(segments.flatMap { Array($0) } == held, "\(first), \(second), \(third)")
                    #expect(
                        zip(segments, segments.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound },
                        "\(first), \(second), \(third)")
                }
            }
        }
    }

    @Test("An empty coverage is one gap as long as the list")
    func empty() {
        let coverage = Coverage([Range<Int>]())
        #expect(coverage.headEnd == 0)
        #expect(coverage.gaps(below: 5) == [0..<5])
        #expect(coverage.gaps(below: 0) == [])
    }

    @Test("A segment that does not start at position 0 is not the head")
    func noHead() {
        #expect(Coverage([10..<20]).headEnd == 0)
        #expect(Coverage([10..<20]).gaps(below: 20) == [0..<10])
    }
}

@Suite("Totals, times and freshness")
struct SmallValueTests {
    @Test(
        "A claimed total is clamped, and a negative total is unknown (R44)",
        arguments: [
            (-1, ListTotal.unknown), (0, .exact(0)), (7, .exact(7)), ((1 << 50) - 1, .exact((1 << 50) - 1)),
            (1 << 50, .estimate(1 << 50)), (Int.max, .estimate(1 << 53)),
        ])
    func totals(claimed: Int, total: ListTotal) {
        #expect(ListTotal(claimed: claimed) == total)
    }

    @Test("Durations beyond the calendar do not overflow")
    func saturation() {
        let last = Timestamp(milliseconds: .max)
        #expect(last + .seconds(1) == last)
        #expect((last - Timestamp(milliseconds: .min)) > .zero)
        #expect(Duration.seconds(Int64.max).wholeMilliseconds == .max)
    }

    @Test(
        "Age decides freshness, and data from the future is stale (R29)",
        arguments: [
            (0, Freshness.fresh), (59_999, .fresh), (60_000, .stale), (600_000, .expired), (-1, .stale),
        ])
    func freshness(age: Int, expected: Freshness) {
        let policy = FreshnessPolicy(staleAfter: .seconds(60), expiredAfter: .seconds(600))
        let validated = Timestamp(milliseconds: 1_000_000)
        #expect(
            policy.freshness(validatedAt: validated, now: Timestamp(milliseconds: 1_000_000 + Int64(age))) == expected)
    }

    @Test("A short id depends on the scope and the text of a query key only")
    func shortIDs() {
        let key = QueryKey("https://api.example.com/items")
        #expect(key.shortID == QueryKey("https://api.example.com/items").shortID)
        #expect(key.shortID.count == 8)
        #expect(key.shortID != QueryKey("https://api.example.com/items", scope: "a").shortID)
    }
}

@Suite("PageContent")
struct PageContentTests {
    private let content = PageContent([
        RawItem(payload: Array("one".utf8), id: "1"), RawItem(payload: [], id: nil),
        RawItem(payload: [0, 255, 13], id: "drei"),
    ])

    @Test("A page returns its payloads and ids unchanged")
    func exact() {
        #expect(content.count == 3)
        #expect(Array(content.payload(at: 0)) == Array("one".utf8))
        #expect(content.payload(at: 1).isEmpty)
        #expect(Array(content.payload(at: 2)) == [0, 255, 13])
        #expect(content.ids == ["1", nil, "drei"])
    }

    @Test("Ids are compared byte by byte, wherever their bytes are stored")
    func ids() {
        let precomposed: ItemIDs = ["é", "", nil]
        #expect(precomposed != ["e\u{301}", "", nil])
        #expect(precomposed != ["é", nil, nil])
        #expect(precomposed != ["é", ""])
        let first = PageContent([RawItem(payload: [1], id: "gone"), RawItem(payload: [2], id: "é")])
        var cut = first.slice(1..<2)
        cut.append(contentsOf: PageContent([RawItem(payload: [], id: ""), RawItem(payload: [], id: nil)]))
        #expect(cut.ids == precomposed)
        #expect(cut.ids.hashValue == precomposed.hashValue)
        #expect(Array(cut.ids.reversed()) == [nil, "", "é"])
        // The text also holds bytes before and after the id, which belong to no id.
        let stored = PageContent(
            bytes: [2], places: [.init(end: 1, idStart: 3, idWord: 4)], text: [0, 0, 0] + Array("é".utf8) + [9])
        #expect(stored == first.slice(1..<2))
        #expect(stored.hashValue == first.slice(1..<2).hashValue)
        #expect(stored.fingerprint == first.slice(1..<2).fingerprint)
        #expect(stored.slice(0..<1) == stored)
    }

    @Test("The slices of a page joined together equal the page")
    func slices() {
        for cut in 0...3 {
            var joined = content.slice(0..<cut)
            joined.append(contentsOf: content.slice(cut..<3))
            #expect(joined == content)
        }
    }

    @Test("The fingerprint changes with an edit, the order, an id and the length")
    func fingerprint() {
        let items = content.items
        var edited = items
        edited[0].payload[0] ^= 1
        var renamed = items
        renamed[0].id = "2"
        for other in [edited, renamed, Array(items.reversed()), Array(items.dropLast())] {
            #expect(PageContent(other).fingerprint != content.fingerprint)
        }
        #expect(PageContent(items).fingerprint == content.fingerprint)
    }

    @Test("Payload ends and ids that do not fit the bytes make no page")
    func mismatch() {
        #expect(PageContent(bytes: [1, 2], ends: [1], ids: ["a"]) == nil)
        #expect(PageContent(bytes: [1, 2], ends: [2, 1], ids: ["a", "b"]) == nil)
        #expect(PageContent(bytes: [1, 2], ends: [1, 2], ids: ["a"]) == nil)
        #expect(PageContent(bytes: [], ends: [], ids: []) == PageContent())
    }
}
