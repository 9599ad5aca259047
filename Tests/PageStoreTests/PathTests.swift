import Foundation
import PageModel
import StorageSupport
import Testing

@testable import PageStore

@Suite("The path of a store")
struct PathTests {
    private let folder = Folder()
    private static let modes = [SQLitePageStore.Mode.createIfMissing, .mustExist, .readOnly]

    private func open(_ path: String, _ mode: SQLitePageStore.Mode = .createIfMissing) async throws -> SQLitePageStore {
        try await SQLitePageStore.openForTest(at: path, mode: mode)
    }

    private func link(_ name: String, to target: String) throws -> String {
        let path = "\(folder.path)/\(name)"
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
        return path
    }

    /// Returns a path of this length, in bytes, in directories that do not exist.
    private func makePath(bytes: Int) -> String {
        var path = folder.realPath
        while path.utf8.count + 102 < bytes { path += "/" + String(repeating: "d", count: 100) }
        return path + "/" + String(repeating: "n", count: bytes - path.utf8.count - 1)
    }

    @Test(
        "A path that is too long for SQLite is refused before any file is created, and the error names the limit",
        arguments: [504, 505, 512, 700, 5_000])
    func longPath(bytes: Int) async throws {
        let path = makePath(bytes: bytes)
        #expect(path.utf8.count == bytes)
        guard bytes > 504 else { return await (try await open(path)).close() }
        for mode in PathTests.modes {
            let error = await #expect(throws: StorageError.self) { _ = try await open(path, mode) }
            #expect(error?.code == .cannotCreate)
            #expect(error?.message.contains("504") == true)
        }
        #expect(folder.contents.isEmpty)
    }

    @Test(
        "A name that leaves no room for the suffix of a file next to the store is refused, and the error names the limit",
        arguments: [247, 248, 255, 300])
    func longName(bytes: Int) async throws {
        let path = "\(folder.path)/" + String(repeating: "n", count: bytes)
        guard bytes > 247 else { return await (try await open(path)).close() }
        for mode in PathTests.modes {
            let error = await #expect(throws: StorageError.self) { _ = try await open(path, mode) }
            #expect(error?.code == .cannotCreate)
            #expect(error?.message.contains("247") == true)
        }
        #expect(folder.contents.isEmpty)
    }

    @Test("A directory that links to itself is not reported as a missing store")
    func loop() async throws {
        let directory = try link("loop", to: "loop")
        for mode in PathTests.modes {
            #expect(await code { _ = try await open("\(directory)/store.sqlite", mode) } == .cannotCreate)
        }
    }

    @Test("A link with a long name leads to a store with a short name")
    func longLink() async throws {
        await (try await open(folder.store)).close()
        let path = try link(String(repeating: "n", count: 250), to: folder.store)
        for mode in PathTests.modes { await (try await open(path, mode)).close() }
    }

    @Test("A link among the directories of a path is followed only if it belongs to this user or to root (R9)")
    func directoryLinks() async throws {
        let real = "\(folder.path)/real"
        await (try await open("\(real)/store.sqlite")).close()
        let directory = try link("directory", to: "real")
        let file = try link("file", to: "directory/store.sqlite")
        let paths = ["\(directory)/store.sqlite", "\(directory)/../real/store.sqlite", file]
        for path in paths { await (try await open(path, .mustExist)).close() }
        // Only root can change the owner of a link. Other users cannot break the rule in a test.
        guard geteuid() == 0 else { return }
        #expect(lchown(directory, 65_534, 65_534) == 0)
        for path in paths + ["\(directory)/new/store.sqlite"] {
            for mode in PathTests.modes {
                #expect(await code { _ = try await open(path, mode) } == .permission, "\(path)")
            }
        }
        #expect(!FileManager.default.fileExists(atPath: "\(real)/new"))
    }

    @Test("The list of mounts has the path of a mounted file, and not the path of its source or its directory")
    func mounts() {
        let lines = """
            22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
            36 22 8:1 /srv/store.sqlite /data/my\\040store.sqlite rw,relatime - ext4 /dev/sda1 rw
            37 22 0:5 / /data/back\\134slash rw - tmpfs tmpfs rw

            """
        func isFound(_ path: String) -> Bool { StoreFile.isMountPoint(path, in: Array(lines.utf8)) }
        #expect(isFound("/data/my store.sqlite"))
        #expect(isFound("/data/back\\slash"))
        for path in ["/srv/store.sqlite", "/data", "/data/my", "/data/my\\040store.sqlite", "/data/my store.sqlite2"] {
            #expect(!isFound(path), "\(path)")
        }
        #expect(!StoreFile.isMountPoint(folder.store))
        #if os(Linux)
        #expect(StoreFile.isMountPoint("/proc"))
        #endif
    }

    @Test("Links that lead to each other are refused")
    func circle() async throws {
        _ = try link("one", to: "two")
        let two = try link("two", to: "one")
        for path in [two, "\(two)/store.sqlite"] {
            for mode in PathTests.modes { #expect(await code { _ = try await open(path, mode) } != nil, "\(path)") }
        }
    }
}
