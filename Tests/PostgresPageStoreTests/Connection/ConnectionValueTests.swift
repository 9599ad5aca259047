#if PostgreSQL
import Testing

@testable import PostgresPageStore

/// The small values of the connection layer.
@Suite("Values of the connection layer")
struct ConnectionValueTests {
    @Test("The code of an error is found in a verbose message, in any language")
    func sqlstates() {
        #expect(Connector.sqlstate(in: "FATAL:  28P01: password authentication failed\nLOCATION: x") == "28P01")
        #expect(
            Connector.sqlstate(
                in: "connection to server at \"127.0.0.1\", port 15432 failed: VYZRADNÝ:  3D000: databáze neexistuje")
                == "3D000")
        #expect(Connector.sqlstate(in: "connection to server on port 15432 failed: Connection refused") == nil)
        #expect(Connector.sqlstate(in: "") == nil)
    }

    @Test("A message has one line and no password")
    func redaction() throws {
        let info = try ConnectionInfo("postgres://someone:hunter%212@host/db")
        #expect(info.redacted("a hunter!2\n\tb\nLOCATION:  auth.c\n") == "a ***; b")
        #expect(!"\(info)".contains("hunter"))
    }

    @Test("A statement gets a name at its second use, when its types agree")
    func statementCache() throws {
        func encoded(_ value: Value) throws -> EncodedStatement { try EncodedStatement(Statement("q", [value])) }
        var cache = StatementCache()
        #expect(cache.plan(try encoded(.null)) == .unnamed)
        cache.isEnabled = true
        #expect(cache.plan(try encoded(.integer(1))) == .unnamed)
        #expect(cache.plan(try encoded(.null)) == .prepare(name: "p1"))
        #expect(cache.plan(try encoded(.integer(2))) == .unnamed, "the preparation may fail")
        cache.prepared("p1", sql: "q", isReady: true)
        #expect(cache.plan(try encoded(.integer(2))) == .named("p1"))
        #expect(cache.plan(try encoded(.text("x"))) == .unnamed)
        #expect(cache.plan(try encoded(.text("x"))) == .prepare(name: "p2"))
        cache.prepared("p2", sql: "q", isReady: false)
        #expect(cache.plan(try encoded(.text("x"))) == .prepare(name: "p2"))
        cache.forget("q")
        #expect(cache.plan(try encoded(.integer(2))) == .unnamed)
        for number in 0..<(2 * StatementCache.mostNames) {
            let statement = try EncodedStatement(Statement("q\(number)"))
            for _ in 0..<2 { _ = cache.plan(statement) }
        }
        #expect(cache.plan(try EncodedStatement(Statement("beyond the limit"))) == .unnamed)
        #expect(cache.plan(try EncodedStatement(Statement("beyond the limit"))) == .unnamed)
    }

    @Test("A queue keeps its order")
    func fifo() {
        var queue = Fifo<Int>()
        for number in 0..<10 { queue.append(number) }
        #expect(queue.removeFirst() == 0 && queue.removeFirst() == 1)
        queue.prepend(1)
        queue.prepend(0)
        queue.prepend(-1)
        queue.removeAll { $0 % 2 == 0 }
        #expect(Array(queue) == [-1, 1, 3, 5, 7, 9])
        while !queue.isEmpty { queue.removeFirst() }
        #expect(queue.first == nil)
    }
}
#endif
