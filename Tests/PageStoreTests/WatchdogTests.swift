import Foundation
import PageModel
import StorageSupport
import Testing

@testable import PageStore

@Suite("Statements without an end")
struct WatchdogTests {
    private static let endless = SQL(
        "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT count(*) FROM r")
    private static let one = SQL("SELECT 1")

    @Test("A statement without an end is interrupted, and the connection stays usable (R46)")
    func endless() throws {
        let connection = try Connection(path: ":memory:")
        connection.timeLimit = .milliseconds(20)
        for _ in 0..<2 {
            let error = #expect(throws: StorageError.self) {
                try connection.transaction(.read) { () throws(StorageError) in
                    try connection.number(WatchdogTests.endless)
                }
            }
            #expect(error?.code == .tookTooLong)
            #expect(
                try connection.transaction(.read) { () throws(StorageError) in try connection.number(WatchdogTests.one)
                } == 1)
        }
    }

    @Test("A statement outside a transaction has a time limit of its own, however long ago the last transaction was")
    func outsideTransactions() throws {
        let connection = try Connection(path: ":memory:")
        connection.timeLimit = .milliseconds(300)
        _ = try connection.transaction(.read) { () throws(StorageError) in try connection.number(WatchdogTests.one) }
        let end = ContinuousClock.now + .milliseconds(400)
        while ContinuousClock.now < end {}
        // SQLite checks the limit every 100,000 instructions, counted over all uses of a prepared statement.
        for _ in 0..<60_000 { #expect(try connection.number(WatchdogTests.one) == 1) }
    }
}
