import FaultVFS
import Foundation
import PageModel
import StorageSupport
import Testing

@testable import PageStore

@Suite("The file of a local copy")
struct LocalPageCopyTests {
    let query = QueryID(rawValue: 7)
    let folder = Folder()
    var path: String { "\(folder.path)/copy/pages.sqlite" }

    func open(_ bound: Int = 1 << 20, store: UInt64 = 1) -> LocalPageCopy {
        LocalPageCopy(at: path, bound: bound, store: store)
    }

    /// A page as a row of the server contains it.
    func page(_ body: Int64, _ text: String = "", count: Int = 10) -> (row: PageRow, content: PageContent) {
        let raw = PageContent(
            (0..<count).map { RawItem(payload: Array("{\"id\":\($0),\"text\":\"\(text)\(body)\"}".utf8), id: "\($0)") })
        let layout = BodyCodec.layout(of: raw)
        let checksum = BodyCodec.checksum(layout: layout, Array(raw.identities))
        let content = layout.withUnsafeBytes { layout in
            raw.bytes.withUnsafeBytes { BodyCodec.content(layout: layout, payload: $0, checksum: checksum) }
        }
        let summary = PageSummary(
            offset: Int(body) * count, count: count, generation: 1, revision: 0, evidence: .inferred, evidenceAt: noon,
            innerInferredSeams: [], fetchedAt: noon, validatedAt: noon, fingerprint: 0, cursorIn: nil, cursorOut: nil,
            validator: nil)
        return (
            PageRow(summary: summary, body: body, checksum: checksum, bytes: layout.count + raw.bytes.count),
            content ?? PageContent()
        )
    }

    func store(_ pages: [(row: PageRow, content: PageContent)], in copy: LocalPageCopy) async {
        copy.store(pages, of: query)
        await copy.waitUntilStored()
    }

    func found(_ pages: [(row: PageRow, content: PageContent)], in copy: LocalPageCopy) async -> [Bool] {
        let contents = await copy.contents(of: pages.map(\.row), in: query)
        return zip(contents, pages).map { content, page in
            if let content { #expect(content == page.content) }
            return content != nil
        }
    }

    private func files(holding needle: String) throws -> [String] {
        let directory = "\(folder.path)/copy"
        return try FileManager.default.contentsOfDirectory(atPath: directory).filter {
            try Data(contentsOf: URL(fileURLWithPath: "\(directory)/\($0)")).range(of: Data(needle.utf8)) != nil
        }
    }

    @Test("Bodies are found after the file was opened again, and only their owner may read the file")
    func reopened() async throws {
        let pages = (1...5).map { page(Int64($0)) }
        let first = open()
        await store(pages, in: first)
        #expect(await found(pages, in: first) == [true, true, true, true, true])
        await first.close()
        let second = open()
        #expect(await found(pages, in: second) == [true, true, true, true, true])
        #expect(await second.queries() == [7])
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        await second.close()
    }

    @Test("A body with another checksum, of another list or of another store is missing")
    func mismatch() async throws {
        let (old, new) = (page(1, "old"), page(1, "new"))
        #expect(old.row.bytes == new.row.bytes)
        let copy = open()
        await store([old], in: copy)
        #expect(await found([new], in: copy) == [false])
        #expect(await copy.contents(of: [old.row], in: QueryID(rawValue: 8)) == [nil])
        await store([new], in: copy)
        #expect(await found([new], in: copy) == [true])
        #expect(await found([old], in: copy) == [false])
        await copy.close()
        let other = open(store: 2)
        #expect(await found([new], in: other) == [false])
        #expect(await other.queries() == [])
        await other.close()
        #expect(try files(holding: "new1") == [])
    }

    @Test("The file stays within its bound, and keeps the bodies that were used last")
    func bound() async throws {
        let bound = 1 << 20
        let copy = open(bound)
        let text = String(repeating: "x", count: 1_000)
        let first = page(0, text)
        await store([first], in: copy)
        for body in 1...400 {
            await store([page(Int64(body), text)], in: copy)
            #expect(await found([first], in: copy) == [true], "body \(body)")
        }
        #expect(await copy.status().problem == nil)
        #expect(await found([page(1, text)], in: copy) == [false])
        #expect(await found([page(400, text)], in: copy) == [true])
        await copy.close()
        let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
        #expect((size ?? 0) <= bound)
        #expect((size ?? 0) > bound / 2)
    }

    @Test("A purge leaves no byte of the list in the file and its log, and a late write does not restore the list")
    func purge() async throws {
        let copy = open()
        await store((1...20).map { page($0, "needle") }, in: copy)
        #expect(try files(holding: "needle") != [])
        await copy.purge([query])
        #expect(try files(holding: "needle") == [])
        #expect(await copy.queries() == [])
        // A read that began before the purge stores its pages after it.
        await store([page(1, "needle")], in: copy)
        #expect(try files(holding: "needle") == [])
        await copy.close()
    }

    @Test("A purge removes a list from a file that another object has just closed")
    func purgeAfterUse() async throws {
        let first = open()
        await store([page(1, "needle")], in: first)
        let second = open()
        #expect(await second.status().problem?.code == .busy)
        await first.close()
        #expect(try !files(holding: "needle").isEmpty)
        await second.purge([query])
        #expect(try files(holding: "needle").isEmpty)
        await second.close()
    }

    @Test("A purge that the disk refuses removes the whole file")
    func refusedPurge() async throws {
        let faulty = FaultyFolder()
        let path = "\(faulty.folder.realPath)/copy.sqlite"
        let copy = LocalPageCopy(at: path, bound: 1 << 20, store: 1, fileSystem: "fault")
        await store((1...20).map { page($0, "needle") }, in: copy)
        #expect(await copy.queries() == [7])
        faulty.arm(Fault(name: "full", kind: FAULT_WRITE, code: 13, isForEver: true), at: 1)
        await copy.purge([query])
        #expect(!faulty.folder.contents.contains("copy.sqlite"))
        faulty.disarm()
        await copy.close()
    }

    @Test("A file that is removed while an object uses it is created again")
    func removed() async throws {
        let copy = open()
        let pages = (1...5).map { page(Int64($0)) }
        await store(pages, in: copy)
        for name in try FileManager.default.contentsOfDirectory(atPath: "\(folder.path)/copy") {
            try FileManager.default.removeItem(atPath: "\(folder.path)/copy/\(name)")
        }
        // The copy checks its path ten times a second. Until the next check it serves bytes of the removed file.
        let end = ContinuousClock.now + .seconds(120)
        while !FileManager.default.fileExists(atPath: path), ContinuousClock.now < end { _ = await copy.queries() }
        #expect(await found(pages, in: copy) == [false, false, false, false, false])
        await store(pages, in: copy)
        #expect(await found(pages, in: copy) == [true, true, true, true, true])
        await copy.close()
    }

    @Test("Damage in any place is never served, and an unusable file is created again", arguments: 0..<24)
    func damaged(part: Int) async throws {
        let pages = (1...40).map { page(Int64($0), String(repeating: "x", count: 100)) }
        let first = open()
        await store(pages, in: first)
        await first.close()
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        // The first hundred bytes are SQLite's header. A file without it may belong to another program, and stays.
        let from = 100 + part * (bytes.count - 100) / 24
        for index in from..<min(bytes.count, from + 300) { bytes[index] ^= 0x5a }
        try bytes.write(to: URL(fileURLWithPath: path))
        let second = open()
        _ = await found(pages, in: second)
        await store(pages, in: second)
        _ = await found(pages, in: second)
        await store(pages, in: second)
        #expect(await found(pages, in: second).allSatisfy { $0 })
        await second.close()
    }

    @Test("A file that is not a local copy stays untouched, and so does a store")
    func foreign() async throws {
        try FileManager.default.createDirectory(atPath: "\(folder.path)/copy", withIntermediateDirectories: true)
        folder.createFile(path, "somebody's notes")
        let copy = open()
        #expect(await found([page(1)], in: copy) == [false])
        await store([page(1)], in: copy)
        #expect(await copy.status().problem?.code == .notAStore)
        await copy.close()
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "somebody's notes")

        let bench = try await Bench<SQLitePageStore>()
        try await bench.put(0, items(0..<10))
        await bench.store.close()
        let before = try Data(contentsOf: URL(fileURLWithPath: bench.folder.store))
        let other = LocalPageCopy(at: bench.folder.store, bound: 1 << 20, store: 1)
        await store([page(1)], in: other)
        #expect(await other.status().problem?.code == .notAStore)
        await other.close()
        #expect(try Data(contentsOf: URL(fileURLWithPath: bench.folder.store)) == before)
    }

    @Test("A second object on the same file works without a copy")
    func second() async throws {
        let (first, second) = (open(), open())
        await store([page(1)], in: first)
        #expect(await found([page(1)], in: second) == [false])
        #expect(await second.status().problem?.code == .busy)
        #expect(await found([page(1)], in: first) == [true])
        await first.close()
        await second.close()
    }

    @Test("A disk that is full from any call on does not fail a read, and every read item is right", arguments: 1...30)
    func full(call: Int) async throws {
        let faulty = FaultyFolder()
        let copy = LocalPageCopy(
            at: "\(faulty.folder.realPath)/copy.sqlite", bound: 1 << 20, store: 1, fileSystem: "fault")
        let pages = (1...10).map { page(Int64($0)) }
        faulty.arm(Fault(name: "full", kind: FAULT_WRITE, code: 13, isForEver: true), at: call)
        for page in pages { await store([page], in: copy) }
        _ = await found(pages, in: copy)
        faulty.disarm()
        _ = await found(pages, in: copy)
        await copy.close()
    }

    @Test("A read counts every failure of the file system as a missing body", arguments: Fault.all)
    func faults(fault: Fault) async throws {
        let pages = (1...10).map { page(Int64($0)) }
        var call = 1
        while call < 400 {
            let faulty = FaultyFolder()
            let copy = LocalPageCopy(
                at: "\(faulty.folder.realPath)/copy.sqlite", bound: 1 << 20, store: 1, fileSystem: "fault")
            faulty.arm(fault, at: call)
            for page in pages { await store([page], in: copy) }
            _ = await found(pages, in: copy)
            await copy.purge([query])
            await copy.close()
            guard faulty.fired > 0 else { break }
            faulty.disarm()
            call += 7
        }
    }
}
