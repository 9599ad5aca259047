import Counting
import Measuring
import SideBySide

enum Program {
    static func run(_ words: [String]) async throws {
        try await TwoStores.with { stores in
            guard words.first != "--region" else { return try await region(words, stores) }
            guard counting_works == 1 else { throw Unexpected("allocations can be counted with glibc alone") }
            for work in Work.allCases {
                let (ours, limit) = try await work.allocations(stores, rounds: 500)
                if Row.areAsked {
                    Row(part: "allocations", what: work.text, who: "pagecache", unit: "", ours).print()
                    Row(part: "allocations", what: work.text, who: "C", unit: "", limit).print()
                } else {
                    print(work.text.left(40), ours.shown().right(8), "C:", limit.shown().right(8))
                }
            }
        }
    }

    private static func region(_ words: [String], _ stores: TwoStores) async throws {
        guard words.count == 3, let work = Work(rawValue: words[1]) else {
            throw Unexpected("expected: --region WORK WHO")
        }
        try await work.region(of: words[2], stores, rounds: 200)
    }
}
