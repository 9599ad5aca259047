import PageModel
import Testing

@testable import PagedRepository

@Suite("Leases of a run")
struct RunLeasesTests {
    private let noon = Timestamp(milliseconds: 1_000_000)

    /// Leases at these positions, whose tokens are the positions.
    private func leases(at places: [Int]) -> RunLeases {
        var leases = RunLeases(owner: LeaseOwner("1"), now: noon)
        let request = LeaseRequest(places, for: .seconds(60), by: leases.owner)
        leases.take(
            LeaseGrant(
                places.map { Lease(offset: $0, token: LeaseToken(rawValue: Int64($0))) }, at: noon + .seconds(5)),
            request, at: noon)
        return leases
    }

    @Test("A run that ends releases all leases, in order of position")
    func releaseAll() {
        var leases = leases(at: [20, 10])
        leases.drop(10)
        leases.keepsHead = true
        leases.keep(20)
        #expect(leases.releaseAll() == [.released(offset: 20, lease: LeaseToken(rawValue: 20))])
        #expect(leases.isEmpty && !leases.keeps(0) && !leases.keeps(20))
    }

    @Test("The lease of page one is kept until a commit ends it, and that of a position until its next answer (R30)")
    func kept() {
        var leases = leases(at: [0, 20])
        leases.keepsHead = true
        leases.keep(20)
        #expect(leases.isKept(for: .firstPage) && leases.isKept(for: .range(20..<30, overlap: 0)))
        leases.committed([])
        #expect(!leases.hasEnded && leases.keepsHead)
        leases.committed([.succeeded(offset: 0, lease: leases[0])])
        #expect(leases.hasEnded && !leases.keepsHead)
        leases.answered(10)
        #expect(leases.keeps(20))
        leases.answered(20)
        #expect(!leases.keeps(20))
    }

    @Test("Reserved requests that do not start give their leases back")
    func reserved() {
        var leases = leases(at: [10, 30])
        let targets = [10, 20, 30].map { FetchTarget.range($0..<$0 + 10, overlap: 0) }
        leases.reserve(targets, [10, 30])
        let started = leases.startReserved(1)
        #expect(started.targets == [targets[0]] && started.granted == [10, 30])
        let given = leases.releaseReserved()
        #expect(given.targets == Array(targets[1...]))
        #expect(given.edits == [.released(offset: 30, lease: LeaseToken(rawValue: 30))])
        #expect(leases[30] == nil && leases[10] != nil)
    }

    @Test("The pause for other owners starts at 50 ms, doubles after every eight waits, and ends at 5 s")
    func pauses() {
        var leases = leases(at: [])
        leases.skipHeldElsewhere()
        let pauses = (0..<100).map { _ in leases.pauseForOthers() }
        #expect(!leases.isHeldElsewhere)
        #expect(pauses[6] == .milliseconds(50) && pauses[7] == .milliseconds(100) && pauses[15] == .milliseconds(200))
        #expect(pauses[99] == .seconds(5))
    }
}
