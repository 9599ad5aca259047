import Foundation
import PageModel
import StorageSupport
import Testing

@testable import PageStore

/// A process loses its POSIX locks on a file when it closes any descriptor of the file. The opening of a store reads the
/// file, its log and its shared memory, and closes them again. This is safe only while this process has no connection.
@Suite("Locks of a store that this process has open")
struct OpenStoresTests {
    private let folder = Folder()

    private func store() async throws -> SQLitePageStore { try await SQLitePageStore.openForTest(at: folder.store) }

    /// Opens the file and its shared memory. Closing these descriptors drops the locks of this process, too.
    private func descriptors() -> [Int32] { ["", "-shm"].map { open(folder.store + $0, O_RDWR | O_CLOEXEC) } }

    /// Whether SQLite's shared lock on the file is held, and its lock on the shared memory.
    private func isHeld(_ descriptors: [Int32]) -> [Bool?] {
        let bytes: [Int64] = [0x4000_0002, 128]
        return zip(descriptors, bytes).map { ByteLock(descriptor: $0).isHeldElsewhere(at: $1) }
    }

    enum Kind: CaseIterable { case writer, locker, reader }

    private func connection(_ kind: Kind, _ identity: FileIdentity) throws -> Connection {
        let options = SQLitePageStore.Options()
        switch kind {
        case .writer: return try StoreOpening.openWriter(folder.store, identity, options: options, now: noon)
        case .locker: return try StoreOpening.openLocker(folder.store, identity, options: options)
        case .reader:
            return try StoreOpening.openReader(folder.store, identity, isReadOnly: false, options: options)
        }
    }

    @Test(
        "A connection that outlives its store keeps its locks when the store is opened and closed again",
        arguments: Kind.allCases)
    func outliving(kind: Kind) async throws {
        let first = try await store()
        let connection = try connection(kind, first.identity)
        await first.close()
        let descriptors = descriptors()
        #expect(isHeld(descriptors) == [true, true])
        let again = try await store()
        #expect(isHeld(descriptors) == [true, true])
        await again.close()
        #expect(isHeld(descriptors) == [true, true])
        withExtendedLifetime(connection) {}
        for descriptor in descriptors { close(descriptor) }
    }

    @Test("A synchronous writer keeps its locks when its store is gone and the file is opened again")
    func synchronousWriter() async throws {
        let access = try await store().synchronously
        let descriptors = descriptors()
        #expect(isHeld(descriptors) == [true, true])
        let again = try await store()
        #expect(isHeld(descriptors) == [true, true])
        await again.close()
        #expect(isHeld(descriptors) == [true, true])
        withExtendedLifetime(access) {}
        for descriptor in descriptors { close(descriptor) }
    }

    @Test("A file counts as closed once its last connection is gone")
    func closed() async throws {
        let inUse = StorageError(.busy, "in use")
        let first = try await store()
        var reader: Connection? = try connection(.reader, first.identity)
        await first.close()
        #expect(await code { try OpenStores.whileClosed(folder.store, otherwise: inUse) {} } == .busy)
        withExtendedLifetime(reader) {}
        reader = nil
        #expect(await code { try OpenStores.whileClosed(folder.store, otherwise: inUse) {} } == nil)
    }

    @Test("A new file with the inode of a removed one has a log of its own")
    func reusedInode() throws {
        func log(beside path: String, of file: FileIdentity) throws -> Int {
            try Data().write(to: URL(fileURLWithPath: "\(path)-wal"))
            return try OpenStores.companions(of: file, at: path, fillingSharedMemory: false).count
        }
        try StoreFile.make(folder.store)
        let place = try OpenStore(folder.store) {}
        #expect(try log(beside: folder.store, of: place.identity) == 1)
        for name in [folder.store, "\(folder.store)-wal"] { unlink(name) }
        // A file system may give the inode number of the removed file to one of the next files.
        for number in 0..<100 {
            let path = "\(folder.path)/new\(number)"
            try StoreFile.make(path)
            guard FileIdentity(path) == place.identity else { continue }
            #expect(try log(beside: path, of: place.identity) == 1)
            break
        }
    }
}
