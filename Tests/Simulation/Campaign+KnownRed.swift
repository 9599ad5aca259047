import PagedRepositoryTesting

extension Campaign {
    /// Lives that go wrong, by the kind of their origin; a life moves to `kept` when it goes well. No test runs them.
    public static let knownRed = reds.flatMap { kind, seeds in
        seeds.map { Life(subject: .runs, mode: .liveness, seed: $0, kind: kind, isStrict: true) }
    }

    private static let reds: [(kind: OriginKind, seeds: [UInt64])] = [
        (
            .hidden,
            [
                0,  // R14: items of a list that never changed are held, and then are not.
                1,  // G2: `complete` behind the first empty page.
                14,  // G3: short pages in the middle, and the list never equals what the origin shows.
                28,  // R23: one sweep does not bring it in.
                82,  // Outcome: incomplete for ever.
                136,  // G4: requests without end.
            ]
        ),
        (.overlapping, [9, 20]),  // G3, R23: an overlap of pages of two items is taken for a loop.
        (
            .large,
            [
                37,  // R25: an item that an insert pushed into the next page marks the list for ever.
                112,  // R23: one sweep does not bring it in.
            ]
        ),
        // G2: a page of one item, asked for where pages have had more, is taken for the end.
        (.sizes, [52]),
        (
            .miscounted,
            [
                0,  // Outcome: one page of a chain, and a total that counts more: incomplete for ever.
                3,  // R14: items of a list that never changed are held, and then are not.
                12,  // G2: `complete`, with a total that is too low.
                52,  // G3.
            ]
        ),
        (
            .window,
            [
                0,  // Outcome: `complete`, and not `limited`.
                2,  // G3.
                5,  // Outcome: `incomplete`, and not `limited`, behind 422.
            ]
        ),
        // Outcome: incomplete, where the last page comes again, without a total and with one.
        (.endless, [1, 14]),
        (
            .shuffled,
            [
                2,  // Outcome: `complete`, of a list that nothing proves.
                8,  // G3: page one alone is held.
                11,  // Outcome: `incomplete`.
                82,  // Outcome: `incomplete`, where each page has the same items in another order.
                284,  // G4: requests without end.
            ]
        ),
        (.trailing, [0]),  // Outcome: an empty page that hands over its own cursor again is a loop.
        (
            .replicas,
            [
                0,  // R25: the list is marked as one whose ids repeat.
                7,  // G4: the list is read again and again while a replica is behind.
                17,  // R14: an item that both replicas show is gone.
            ]
        ),
        (.uncounted, [7]),  // G2: 304 on page one, and the end is not asked for again.
        (
            .firstContact,
            [
                13,  // R25.
                43,  // R23.
                46,  // G2: an empty answer in a bad moment is the end of a list without a total.
                121,  // G3.
            ]
        ),
        // Economy: more than one and a half times the requests of a download without a cache, and without end.
        (.feed, [5, 22]),
        (
            .echoing,
            [
                0,  // R23.
                1,  // R25: one item that came twice marks the list for ever.
                12,  // G3: the item that came twice is held twice.
                13,  // R14.
            ]
        ),
        // R31: a run asks 20 times a second for a lease that a dead process has left for hours.
        (.clocks, [48]),
        // Outcome and R25: the end of ordinary lives, held to the expected outcome.
        (.ordinary, [2, 56, 100, 248]),
    ]
}
