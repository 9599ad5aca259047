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
        // A lease counts until its end, while the heartbeat of its owner has not expired (R30).
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

    /// Returns the number of notes so far.
    func count(_ pool: PostgresPool) async throws -> Int {
        Int(try await pool.run("SELECT coalesce(max(n), 0) FROM \(schema).trace").integer(0, 0) ?? 0)
    }

    /// The changes of one lease: its tokens before and after, and whether the lease before still counted.
    struct Note {
        var start: Int64
        var old: Int64?
        var new: Int64?
        var counted: Bool
    }

    struct Notes {
        var notes: [Note]

        /// The tokens that were taken over when their time had passed, or the heartbeat of their owner had expired.
        var expired: Set<Int64> {
            Set(notes.compactMap { $0.new != nil && $0.new != $0.old && !$0.counted ? $0.old : nil })
        }

        /// Returns the steps for `Scripts/trace`.
        /// - Parameter ended: the tokens whose holders sent an end. Another one that ends is a step that the model refuses.
        func steps(ended: Set<Int64>) -> [String] {
            var steps: [String] = []
            var known: Set<Int64> = []
            for note in notes where note.old != note.new {
                let start = note.start
                // A lease of before the first note.
                if known.insert(start).inserted, let old = note.old { steps.append("grant\t\(start)\t\(old)") }
                if let new = note.new {
                    if note.old != nil, !note.counted { steps.append("over\t\(start)") }
                    steps.append("grant\t\(start)\t\(new)")
                } else if let old = note.old {
                    steps.append("end\t\(start)\t\(ended.contains(old) ? old : 0)")
                }
            }
            return steps
        }
    }

    /// Returns the notes, and removes the trigger.
    func end(_ pool: PostgresPool) async throws -> Notes {
        let rows = try await pool.run("SELECT start, old, new, counted FROM \(schema).trace ORDER BY n")
        try await pool.run("DROP TRIGGER note ON \(schema).ledger")
        try await pool.run("DROP FUNCTION \(schema).note")
        try await pool.run("DROP TABLE \(schema).trace")
        return Notes(
            notes: (0..<rows.count).compactMap { row in
                rows.integer(row, 0).map {
                    Note(
                        start: $0, old: rows.integer(row, 1), new: rows.integer(row, 2),
                        counted: rows.bool(row, 3) == true)
                }
            })
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
