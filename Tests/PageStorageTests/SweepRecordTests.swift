import PageModel
import StorageSupport
import Testing

/// Where a sweep continues after a commit of another run (R23, R31).
@Suite("The stored progress of a sweep")
struct SweepRecordTests {
    private let begun = SweepProgress(position: 20, cursor: PageCursor("c20"), startedAt: noon)

    /// The progress after these edits, of a sweep that has verified 20 of 40 positions.
    private func progress(_ kind: StorageKind, after edits: [ListEdit]) async throws -> SweepProgress? {
        let bench = try await Bench(kind)
        try await bench.put(0, items(0..<20))
        try await bench.put(20, items(20..<40))
        try await bench.commit([.setTotal(.exact(40)), .setEnd(40), .setSweep(begun)])
        try await bench.commit(edits, at: noon + .seconds(1))
        return try await bench.list.record.sweep
    }

    @Test(
        "A change before the position takes the sweep back to the change, without its cursor",
        arguments: StorageKind.allCases, [0, 5, 19])
    func before(kind: StorageKind, place: Int) async throws {
        let kept = try await progress(kind, after: [.splice(place..<place + 1, nil)])
        #expect(kept == SweepProgress(position: place, startedAt: noon))
    }

    @Test(
        "A change at the position or behind it, and a confirmation, leave the sweep where it was",
        arguments: StorageKind.allCases)
    func behind(kind: StorageKind) async throws {
        #expect(try await progress(kind, after: [.splice(20..<21, nil)]) == begun)
        #expect(try await progress(kind, after: [.splice(35..<36, nil), .setTotal(.exact(39))]) == begun)
        let confirmed: [ListEdit] = [.markContiguous(0..<20), .touchPage(offset: 0, validator: nil), .validated]
        #expect(try await progress(kind, after: confirmed) == begun)
        #expect(try await progress(kind, after: [.setSweep(nil)]) == nil)
    }
}
