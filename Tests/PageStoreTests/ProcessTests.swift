#if Tool
import Foundation
import PageModel
import PageStore
import ProgramSupport
import StorageSupport
import Testing

/// Several processes use one store for 5 seconds in the short form, and for a minute with PAGECACHE_SOAK=1.
@Suite("Several processes, one store", .serialized)
struct ProcessTests {
    private let folder = Folder()
    private static let seconds = Soak.isOn ? 60 : 5
    /// The limit for the 99th percentile, in milliseconds. In the short form hundreds of other tests compete for the
    /// processor.
    private static let latencyLimit: Double = Soak.isOn ? 250 : 2_500
    private static let worker = Program.built("StoreWorker")

    private func start(_ command: String, _ seconds: Int, _ name: String = "w") async throws -> Program {
        try await Program(ProcessTests.worker, [command, folder.store, "\(seconds)", name])
    }

    @Test(
        "Four processes that append, read, lease, shift and purge lose no item, hold none twice, and get no busy error")
    func crowd() async throws {
        var programs: [Program] = []
        for number in 0..<4 { programs.append(try await start("crowd", ProcessTests.seconds, "w\(number)")) }
        var acknowledged: Set<String> = []
        for program in programs {
            let ended = try await program.ended()
            #expect(ended.status == 0, "\(ended.output) \(ended.errors)")
            let result = ended.json
            #expect(result["violations"] as? [String] == [], "\(result["violations"] ?? "")")
            #expect(result["busy"] as? Int == 0)
            #expect((result["leases"] as? Int ?? 0) > 0)
            #expect((result["p99_ms"] as? Double ?? .infinity) <= ProcessTests.latencyLimit)
            let names = result["acknowledged"] as? [String] ?? []
            #expect(!names.isEmpty)
            acknowledged.formUnion(names)
            let shown = ["writes", "reads", "leases", "p50_ms", "p99_ms", "max_ms"].map { "\($0) \(result[$0] ?? "?")" }
            print("processes: \(shown.joined(separator: ", "))")
        }
        let store = try await SQLitePageStore.openForTest(at: folder.store, mode: .mustExist)
        let query = try #require(try await store.query(QueryKey("shared")))
        let window = try #require(try await store.window(of: query.id, 0..<10_000_000))
        let held = window.parts.flatMap { $0.content.ids.compactMap { $0 } }
        #expect(held.count == Set(held).count)
        #expect(Set(held) == acknowledged)
        let report = try await store.verify()
        #expect(report.isSound, "\(report.findings)")
        await store.close()
    }

    @Test("Eight processes open a missing store at once: one creates it, and all of them open it")
    func opening() async throws {
        for _ in 0..<(Soak.isOn ? 50 : 5) {
            let folder = Folder()
            let programs = try await withThrowingTaskGroup(of: Program.self) { group in
                for _ in 0..<8 {
                    group.addTask { try await Program(ProcessTests.worker, ["open", folder.store, "0"]) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for program in programs {
                let ended = try await program.ended()
                #expect(ended.status == 0, "\(ended.output)")
            }
            let store = try await SQLitePageStore.openForTest(at: folder.store, mode: .mustExist)
            #expect(try await store.verify().isSound)
            await store.close()
        }
    }

    @Test(
        "A commit notifies another process, in 99 of 100 cases within 250 ms (make soak), and a watcher of an unchanged store idles"
    )
    func notices() async throws {
        let elsewhere = Folder()
        let idler = try await Program(ProcessTests.worker, ["idle", elsewhere.store, "0"])
        let watcher = try await start("pong", 0)
        let writer = try await start("ping", ProcessTests.seconds)
        let commits = try await writer.ended().json["commits"] as? Int ?? 0
        let result = try await watcher.ended().json
        print("notices: \(result) of \(commits) commits")
        #expect(commits > 0)
        #expect(result["notices"] as? Int == commits, "each notice is answered before the next commit")
        #expect((result["p99_ms"] as? Double ?? .infinity) <= ProcessTests.latencyLimit)
        idler.signal(SIGTERM)
        let idle = try await idler.ended().json
        print("idle: \(idle)")
        #expect(idle["seconds"] as? Double ?? 0 >= 1)
        #expect(idle["heard"] as? Int == 0)
        // The limit for a minute is a tenth of a per cent of one core. The start of the watcher alone takes a few
        // milliseconds.
        #expect(idle["cpu_ms"] as? Double ?? .infinity <= (Soak.isOn ? 60 : 50))
    }

    @Test(
        "A user with read permission only can read a store but not write or change it, and a user without permission cannot open it"
    )
    func visitor() async throws {
        // Only root can run a program as another user.
        guard geteuid() == 0 else { return }
        let bench = try await Bench<SQLitePageStore>()
        let folder = bench.folder
        try await bench.put(0, items(0..<10))
        await bench.store.close()
        // The package may be in a directory that other users cannot reach.
        let tools = Folder()
        let worker = "\(tools.path)/worker"
        try FileManager.default.copyItem(atPath: ProcessTests.worker, toPath: worker)
        for path in [folder.path, tools.path, worker] {
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        }
        let nobody = ["--reuid", "65534", "--regid", "65534", "--clear-groups", worker, "look", folder.store, "0"]
        let refused = try await Program.run("/usr/bin/setpriv", nobody).json
        #expect((refused["error"] as? String)?.contains("permission") == true, "\(refused)")
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: folder.store)
        let before = (try Data(contentsOf: URL(fileURLWithPath: folder.store)), folder.contents.sorted())
        let seen = try await Program.run("/usr/bin/setpriv", nobody).json
        #expect(seen["items"] as? Int == 10, "\(seen)")
        #expect(seen["writing"] as? String == "permission", "\(seen)")
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.store)) == before.0)
        #expect(folder.contents.sorted() == before.1)
        // The files next to the store have rights of their own.
        let writer = try await SQLitePageStore.openForTest(at: folder.store, mode: .mustExist)
        _ = try await writer.register(QueryKey("ours"), at: noon)
        for (suffix, mode) in [("-shm", 0o600), ("-wal", 0o644)] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: folder.store + suffix)
        }
        let hidden = try #require(try await Program.run("/usr/bin/setpriv", nobody).json["error"] as? String)
        #expect(
            hidden.hasPrefix("permission: ") && hidden.hasSuffix("no permission for \(folder.store)-shm"), "\(hidden)")
        await writer.close()
    }
}
#endif
