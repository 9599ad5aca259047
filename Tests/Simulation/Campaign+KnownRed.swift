public import PagedRepositoryTesting

extension Campaign {
    /// The kinds of origin whose lives the tests compare with their expected outcome.
    public static let provenKinds: [OriginKind] = [
        .hidden, .overlapping, .large, .sizes, .sprouting, .miscounted, .trailing, .uncounted, .firstContact, .sweeps,
        .rewritten, .clocks,
    ]

    /// Lives that failed once and succeed now, by the kind of their origin.
    public static let fixed = lives(of: [
        (.hidden, [0, 1, 14, 24, 28, 82, 136, 199, 480, 856]),  // G2, R14: short pages in the middle.
        (.feed, [5, 8, 11, 22, 25, 26, 286, 304]),  // Economy: dropped answers, second walks, needless audits.
        (.overlapping, [9, 20, 63]),  // G3, R23: an overlap of pages of two items was taken for a loop.
        (.large, [37, 112]),  // R25: an item that an insert pushed into the next page marked the list forever.
        (.long, [21]),  // G3: an insert of one page, while the next page was requested, was taken for a loop.
        (.sizes, [52]),  // G2: a page of one item, where pages had had more, was taken for the end.
        (.miscounted, [0, 3, 12, 25, 44, 52, 264, 100_347]),  // Totals that are too high or too low, or jitter.
        (.window, [0, 2, 5, 23, 30, 54, 88]),  // `complete`, and not `limited`; failures after 422.
        (.shuffled, [2, 7, 8, 11, 33, 82]),  // Outcome: `incomplete`; the order within a page taken for moves.
        (.endless, [1, 14, 46]),  // More requests than needed; a total that is reached.
        (.replicas, [0, 7, 17]),  // G4; R14: items that both replicas show were dropped at the seam of their answers.
        (.trailing, [0]),  // An empty page that hands over its own cursor again was taken for a loop.
        (.uncounted, [7]),  // G2: 304 on page one, and the end was not asked for again.
        (.firstContact, [13, 43, 46, 121]),  // R25, R23, G2, G3.
        (.sweeps, [203_016, 207_096]),  // R31: a sweep of a chain went on at a position that had moved.
        (.echoing, [0, 1, 12, 13]),  // R25: one item that came twice marked the list forever.
        (.clocks, [48]),  // R31: a run asked 20 times a second for a lease that lasts for hours.
        (.ordinary, [2, 100, 248]),  // Outcome and R25.
    ])

    /// Lives that fail, by the kind of their origin. A life moves to `fixed` when it succeeds. No test runs these
    /// lives.
    public static let knownRed = lives(of: [
        (.hidden, [154, 321, 660]),  // R14: budgets of pages that end each walk before it is whole.
        (.window, [135]),  // G4: too many requests; a refused cursor of the engine behind the window.
        (.shuffled, [24, 41]),  // G4, G3: chains whose whole list has another order in each answer.
        // One empty answer behind a full page, at first contact. A second look would cost each list without a total a
        // request more than the seed libraries promise (C19); the next run looks at the end.
        (.firstContact, [207_814]),
        (.replicas, [5, 19, 28]),  // R14, G4: a replica that is a change behind, for 100 requests and more.
        (.ordinary, [56]),  // Outcome: totals that lie about a list whose ids repeat.
    ])

    private static func lives(of seeds: [(kind: OriginKind, seeds: [UInt64])]) -> [Life] {
        seeds.flatMap { kind, seeds in
            seeds.map { Life(subject: .runs, mode: .liveness, seed: $0, kind: kind, isStrict: true) }
        }
    }
}
