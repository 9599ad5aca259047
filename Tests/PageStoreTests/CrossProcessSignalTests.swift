import Foundation
import PageModel
import Testing

@testable import PageStore

@Suite("The notice file")
struct CrossProcessSignalTests {
    @Test(
        "A commit to several lists stamps each of their columns once, with numbers that were not in the file before (R41)"
    )
    func stamps() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("notices-\(UUID().uuidString)").path
        let file = try #require(CrossProcessSignal(store: path, create: true))
        let reader = try #require(CrossProcessSignal(store: path, create: false))
        defer { try? FileManager.default.removeItem(atPath: file.path) }
        var seen = reader.read()
        let columns = Int64(ChangeBroadcaster.columns)
        for queries in [[3], [1, columns + 1, 2], [1, 2, 3]] as [[Int64]] {
            let before = seen
            file.stamp(queries.map { QueryID(rawValue: $0) })
            let expected = Set(queries.map { Int($0 % columns) })
            #expect(reader.changes(since: &seen) == expected)
            let written = zip(seen, before).filter { $0 != $1 }.map(\.0)
            #expect(written.count == expected.count)
            #expect(Set(written).count == written.count && Set(written).isDisjoint(with: before))
        }
    }
}
