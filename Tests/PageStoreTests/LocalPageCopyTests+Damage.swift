import FaultVFS
import Foundation
import PageModel
import StorageSupport
import Testing

@testable import PageStore

/// Damage in the file of a local copy, and in a file of another program at its path.
extension LocalPageCopyTests {
    enum Foreign: CaseIterable { case damagedSchema, cutOff, withLog }

    private func filesOfCopy() throws -> [String: Data] {
        let directory = "\(folder.path)/copy"
        var files: [String: Data] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: directory) {
            files[name] = try Data(contentsOf: URL(fileURLWithPath: "\(directory)/\(name)"))
        }
        return files
    }

    private func makeForeign(_ kind: Foreign) throws {
        try FileManager.default.createDirectory(atPath: "\(folder.path)/copy", withIntermediateDirectories: true)
        folder.createFile(path)
        let connection = try Connection(path: path)
        if kind == .withLog { try connection.execute("PRAGMA journal_mode = WAL") }
        try connection.execute("CREATE TABLE theirs (a); INSERT INTO theirs VALUES (zeroblob(20000))")
        connection.keepLogWhenClosing()
    }

    @Test("A database of another program stays untouched, with its log and its journal", arguments: Foreign.allCases)
    func foreignDatabase(kind: Foreign) async throws {
        try makeForeign(kind)
        if kind != .withLog {
            var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            // The header of the first page follows the header of the file.
            if kind == .damagedSchema { for index in 100..<108 { bytes[index] ^= 0x5a } }
            if kind == .cutOff { bytes = bytes.prefix(2 * 4_096) }
            try bytes.write(to: URL(fileURLWithPath: path))
            for suffix in ["-wal", "-journal"] { folder.createFile(path + suffix, "theirs") }
        }
        let before = try filesOfCopy()
        #expect(before["pages.sqlite-wal"]?.isEmpty == false)
        let copy = open()
        await store([page(1)], in: copy)
        #expect(await found([page(1)], in: copy) == [false])
        #expect(await copy.status().problem?.code == .notAStore)
        await copy.close()
        #expect(try filesOfCopy() == before)
    }

    @Test("A short file in the place of a copy stays, although the log of the copy is next to it")
    func replacedBeforeOpening() async throws {
        var copy: LocalPageCopy? = open()
        await store([page(1)], in: try #require(copy))
        let log = try Data(contentsOf: URL(fileURLWithPath: path + "-wal"))
        await copy?.close()
        copy = nil
        for suffix in ["", "-wal"] { unlink(path + suffix) }
        folder.createFile(path, "somebody's notes")
        try log.write(to: URL(fileURLWithPath: path + "-wal"))
        let other = open()
        await store([page(1)], in: other)
        #expect(await other.status().problem?.code == .notAStore)
        await other.close()
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "somebody's notes")
    }

    @Test("A purge does not remove a file that has just taken the place of the copy")
    func replaced() async throws {
        let faulty = FaultyFolder()
        let path = "\(faulty.folder.realPath)/copy.sqlite"
        let copy = LocalPageCopy(at: path, bound: 1 << 20, store: 1, fileSystem: "fault")
        await store((1...20).map { page($0) }, in: copy)
        faulty.folder.createFile(path + ".theirs", "somebody's notes")
        faulty.arm(Fault(name: "full", kind: FAULT_WRITE, code: 13, isForEver: true), at: 1)
        // This call checks that the file is in its place. The next check is a tenth of a second later.
        #expect(await copy.queries() == [7])
        #expect(rename(path + ".theirs", path) == 0)
        await copy.purge([query])
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "somebody's notes")
        faulty.disarm()
        await copy.close()
    }

    @Test(
        "A damaged size of a body ends neither the process nor the use of the copy (R46)",
        arguments: [
            "9223372036854775807", "-9223372036854775808", "'x'", "x'00'", "1e300",
            "CASE id WHEN 2 THEN 9223372036854775807 ELSE 0 END",
            "CASE id WHEN 2 THEN -9223372036854775808 ELSE bytes END",
        ])
    func damagedSize(value: String) async throws {
        let pages = (1...20).map { page($0, String(repeating: "x", count: 1_000)) }
        let all = [Bool](repeating: true, count: 20)
        let first = open()
        await store(pages, in: first)
        await first.close()
        try Connection(path: path).execute("UPDATE body SET bytes = \(value)")
        let second = open()
        #expect(await found(pages, in: second) == all)
        await store(pages, in: second)
        #expect(await found(pages, in: second) == all)
        let status = await second.status()
        #expect(status.problem == nil)
        #expect((0...(1 << 20)).contains(status.bytes))
        await second.close()
    }
}
