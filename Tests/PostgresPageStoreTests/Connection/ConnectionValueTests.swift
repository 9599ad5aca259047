#if PostgreSQL
import PageModel
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

    /// The codes of PostgreSQL 15 that a client of a store can receive
    /// (https://www.postgresql.org/docs/15/errcodes-appendix.html).
    private static let meanings: [(state: String, code: PostgresError.Code, stored: StorageError.Code)] = [
        ("08000", .server, .unavailable), ("08003", .server, .unavailable), ("08006", .server, .unavailable),
        // PgBouncer sends this code for everything.
        ("08P01", .server, .unavailable),
        ("22001", .server, .tooLarge), ("22003", .server, .internal), ("22021", .server, .internal),
        ("23505", .server, .damaged), ("23514", .server, .internal),
        ("25006", .readOnly, .permission), ("25P02", .server, .internal), ("25P03", .server, .unavailable),
        ("28000", .authentication, .permission), ("28P01", .authentication, .permission),
        ("3D000", .noSuchDatabase, .notFound), ("3F000", .server, .notAStore),
        ("40001", .conflict, .busy), ("40P01", .conflict, .busy), ("72000", .conflict, .busy),
        ("42501", .permission, .permission), ("42601", .server, .internal), ("42703", .server, .notAStore),
        ("42P01", .server, .notAStore),
        ("53000", .server, .unavailable), ("53100", .full, .full), ("53200", .server, .unavailable),
        ("53300", .unavailable, .unavailable), ("53400", .server, .full),
        ("54000", .server, .tooLarge), ("54001", .server, .tooLarge), ("55P03", .server, .busy),
        ("57000", .server, .unavailable), ("57014", .server, .busy), ("57P01", .unavailable, .unavailable),
        ("57P02", .unavailable, .unavailable), ("57P03", .unavailable, .unavailable),
        ("57P04", .noSuchDatabase, .notFound), ("57P05", .unavailable, .unavailable),
        ("58000", .server, .inputOutput), ("58030", .server, .inputOutput), ("58P01", .server, .inputOutput),
        ("XX000", .server, .damaged), ("XX001", .server, .damaged), ("XX002", .server, .damaged),
    ]

    @Test("Each SQLSTATE has the code of its meaning, in a request and in the error of the store")
    func meanings() {
        for (state, code, stored) in ConnectionValueTests.meanings {
            #expect(SQLState.code(state) == code, "\(state)")
            let error = PostgresError(SQLState.code(state), "the message of the server", sqlstate: state)
            let storage = StorageError(error, at: "postgres://host/db")
            #expect(storage.code == stored, "\(state)")
            #expect(storage.message == "postgres://host/db: the message of the server")
        }
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

    @Test("A statement that is too large for the server is not sent, and its store says so")
    func limit() throws {
        let statement = Statement("q", [.bytes([1, 2, 3]), .null, .integer(4)])
        #expect(try EncodedStatement(statement, limit: 11).bytes.count == 11)
        do throws(PostgresError) {
            _ = try EncodedStatement(statement, limit: 10)
            Issue.record("11 bytes were accepted")
        } catch {
            #expect(StorageError(error, at: "postgres://host/db").code == .tooLarge)
        }
        // The server ends a session with a message above its limit. Each parameter has a length of four bytes besides.
        #expect(EncodedStatement.mostBytes + 4 * EncodedStatement.mostParameters < 0x3FFF_FFFF - 65_536)
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
