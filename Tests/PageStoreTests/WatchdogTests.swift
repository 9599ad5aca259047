import Foundation
import PageModel
import StorageSupport
import Testing

@testable import PageStore

@Suite("What a file could do for ever")
struct WatchdogTests {
    private static let endless = SQL("WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT count(*) FROM r")
    private static let one = SQL("SELECT 1")

    @Test("R46: a statement without an end is ended, and the connection goes on")
    func endless() throws {
        let connection = try Connection(path: ":memory:")
        connection.timeLimit = .milliseconds(20)
        for _ in 0..<2 {
            let error = #expect(throws: StorageError.self) {
                try connection.transaction(.read) { () throws(StorageError) in try connection.number(WatchdogTests.endless) }
            }
            #expect(error?.code == .tookTooLong)
            #expect(try connection.transaction(.read) { () throws(StorageError) in try connection.number(WatchdogTests.one) } == 1)
        }
    }
}

@Suite("Item hashes in memory")
struct KeyTableTests {
    @Test("it holds what a dictionary holds, zero and overwritten keys included", arguments: [0, 1, 60, 5_000])
    func agreesWithDictionary(count: Int) {
        var random = SystemRandomNumberGenerator()
        var table = KeyTable()
        var model: [UInt64: Int64] = [:]
        for index in 0..<count {
            // Few different keys, so that many come again; crowded ones, too.
            let key = index % 3 == 0 ? UInt64.random(in: 0...20, using: &random) : UInt64.random(in: 0...5_000, using: &random) << 40
            table.set(key, Int64(index))
            model[key] = Int64(index)
        }
        for (key, value) in model { #expect(table[key] == value) }
        for key in UInt64(10_000)..<10_100 { #expect(table[key] == nil) }
        #expect(table[0] == model[0])
    }
}
