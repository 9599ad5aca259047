import PageModel
import Testing

@Suite("Freshness policy and the origin's max-age")
struct FreshnessPolicyTests {
    private let validated = Timestamp(milliseconds: 1_000_000)

    @Test(
        "An origin's max-age replaces the policy's age, clamped to 0...1 hour; without one the policy's age applies",
        arguments: [
            (nil, 60), (0, 0), (-5, 0), (10, 10), (600, 600), (3_600, 3_600), (86_400, 3_600),
        ])
    func byDefault(said: Int?, staleAfter: Int) {
        #expect(FreshnessPolicy().staleAfter(originSays: said.map { .seconds($0) }) == .seconds(staleAfter))
    }

    @Test(
        "The policy clamps an origin's max-age to its bounds; where the bounds cross, the upper bound applies",
        arguments: [
            (30, 90, 10, 30), (30, 90, 60, 60), (30, 90, 600, 90), (90, 30, 60, 30), (-9, -5, 60, 0), (0, 90, -1, 0),
        ])
    func bounds(floor: Int, cap: Int, said: Int, staleAfter: Int) {
        let policy = FreshnessPolicy(originLifetime: .taken(atLeast: .seconds(floor), atMost: .seconds(cap)))
        #expect(policy.staleAfter(originSays: .seconds(said)) == .seconds(staleAfter))
        #expect(policy.staleAfter(originSays: nil) == .seconds(60), "the bounds apply to the origin's max-age only")
    }

    @Test("A policy that ignores the origin's max-age uses its own age")
    func ignored() {
        let policy = FreshnessPolicy(staleAfter: .seconds(7), originLifetime: .ignored)
        #expect(policy.staleAfter(originSays: .seconds(600)) == .seconds(7))
        #expect(
            policy.freshness(validatedAt: validated, freshFor: .seconds(600), now: validated + .seconds(8)) == .stale)
    }

    @Test("A list is stale at once when the origin gives a max-age of zero")
    func zero() {
        #expect(FreshnessPolicy().freshness(validatedAt: validated, freshFor: .zero, now: validated) == .stale)
    }

    @Test(
        "An invalidated list is never fresh, an expired list stays expired, and an unfetched list has no age (R11)")
    func invalidated() {
        let policy = FreshnessPolicy(expiredAfter: .seconds(500))
        var list = QueryRecord(
            id: QueryID(rawValue: 1), key: QueryKey("k"), version: ListVersion(generation: 1, revision: 0),
            total: .unknown,
            end: nil, validatedAt: nil, createdAt: validated, allowsDuplicates: false, paging: "", source: "",
            invalidatedAt: validated)
        #expect(policy.freshness(of: list, now: validated) == nil)
        list.validatedAt = validated + .seconds(1)
        #expect(policy.freshness(of: list, now: validated + .seconds(2)) == .stale)
        #expect(policy.freshness(of: list, now: validated + .seconds(501)) == .expired)
        #expect(
            policy.freshness(ofPageValidatedAt: validated + .seconds(2), in: list, now: validated + .seconds(3))
                == .stale)
        list.invalidatedAt = nil
        list.freshFor = .seconds(200)
        #expect(policy.freshness(of: list, now: validated + .seconds(200)) == .fresh)
        #expect(policy.freshness(of: list, now: validated + .seconds(201)) == .stale)
    }
}
