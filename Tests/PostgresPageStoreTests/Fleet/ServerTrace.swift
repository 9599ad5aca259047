#if PostgreSQL && Tool && canImport(Glibc)
import Foundation
import ProgramSupport
import Testing

@testable import PostgresPageStore

/// The changes of leases in the order in which the server made them, noted by a trigger that only tests have, and their
/// replay through `Models/fleet.pml`.
struct ServerTrace {
    let schema: String

    /// Begins to note. The schema must exist.
    func begin(_ pool: PostgresPool) async throws {
        try await pool.run(
            """
            CREATE TABLE \(schema).trace
                (n bigint GENERATED ALWAYS AS IDENTITY, start bigint, old bigint, new bigint, counted boolean)
            """)
        // A lease counts until its end, while the sign of life of its owner has not passed (R30).
        try await pool.run(
            """
            CREATE FUNCTION \(schema).note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                INSERT INTO \(schema).trace (start, old, new, counted) VALUES
                    (coalesce(NEW.start, OLD.start), OLD.lease_token, NEW.lease_token,
                    OLD.lease_until > extract(epoch FROM clock_timestamp()) * 1000 AND EXISTS (
                        SELECT 1 FROM \(schema).owner
                        WHERE name = OLD.lease_process AND alive_until > clock_timestamp()));
                RETURN NULL; END $$
            """)
        try await pool.run(
            """
            CREATE TRIGGER note AFTER INSERT OR UPDATE OR DELETE ON \(schema).ledger
            FOR EACH ROW EXECUTE FUNCTION \(schema).note()
            """)
    }

    /// Returns the steps for `Scripts/trace`, and ends the notes.
    /// - Parameter ended: the tokens whose holders sent an end. Another one that ends is a step that the model refuses.
    func steps(_ pool: PostgresPool, ended: Set<Int64>) async throws -> [String] {
        let rows = try await pool.run("SELECT start, old, new, counted FROM \(schema).trace ORDER BY n")
        try await pool.run("DROP TRIGGER note ON \(schema).ledger")
        try await pool.run("DROP FUNCTION \(schema).note")
        try await pool.run("DROP TABLE \(schema).trace")
        var steps: [String] = []
        var known: Set<Int64> = []
        for row in 0..<rows.count {
            guard let start = rows.integer(row, 0) else { continue }
            let (old, new) = (rows.integer(row, 1), rows.integer(row, 2))
            guard old != new else { continue }
            // A lease of before the first note.
            if known.insert(start).inserted, let old { steps.append("grant\t\(start)\t\(old)") }
            if let new {
                if old != nil, rows.bool(row, 3) != true { steps.append("over\t\(start)") }
                steps.append("grant\t\(start)\t\(new)")
            } else if let old {
                steps.append("end\t\(start)\t\(ended.contains(old) ? old : 0)")
            }
        }
        return steps
    }

    /// Replays the steps. `isControl` replaces a token, and expects that the model refuses it.
    static func replay(_ steps: [String], isControl: Bool = false) async throws -> Program.Ended {
        let file = NSTemporaryDirectory() + "trace-" + UUID().uuidString
        try Data(steps.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: file))
        defer { try? FileManager.default.removeItem(atPath: file) }
        let script = OwnServer.script.dropLast("postgres".count) + "trace"
        return try await Program.run(
            "/usr/bin/env", ["python3", String(script)] + (isControl ? ["--control"] : []) + [file])
    }
}
#endif
