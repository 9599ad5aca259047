#if Tool
import Foundation
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport

/// A damaged header of the store's file, and obstacles at the paths of its files.
@Suite("Damaged headers and obstacles next to a store")
struct DamagedHeaderTests {
    private let folder = Folder()

    private func tool(_ arguments: [String]) async throws -> Program.Ended { try await folder.tool(arguments) }

    @Test(
        "verify finds a damaged number in the header, no command writes, and verify --repair restores the number",
        arguments: [(18, 3), (18, 130), (19, 3), (60, 128), (62, 4), (63, 0), (63, 3), (63, 5), (68, 0x71), (71, 0)])
    func header(offset: Int, value: UInt8) async throws {
        try await folder.writeListWithGap()
        let sound = try Data(contentsOf: URL(fileURLWithPath: folder.store))
        try folder.overwrite(at: offset, [value])
        let verify = try await tool(["verify"])
        #expect(verify.status == 65, "\(verify.output)\(verify.errors)")
        #expect((verify.output + verify.errors).contains("header"), "\(verify.output)\(verify.errors)")
        let doctor = try await tool(["doctor"])
        #expect(doctor.status == 65, "\(doctor.output)")
        for arguments in [["gc", "--max-bytes", "1G"], ["purge", "list", "--yes"], ["sync", "list"]] {
            let ended = try await tool(arguments)
            #expect(ended.status == 65, "\(arguments): \(ended.errors)")
            #expect(ended.errors.contains("'pagecache verify"), "\(arguments): \(ended.errors)")
        }
        let repair = try await tool(["verify", "--repair", "--yes"])
        #expect(repair.status == 0, "\(repair.output)\(repair.errors)")
        #expect(repair.output.contains("header"), "\(repair.output)\(repair.errors)")
        #expect(try await tool(["verify"]).status == 0)
        #expect(try await tool(["show", "list", "--limit", "100"]).output.split(separator: "\n").count == 100)
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.store))[18..<20] == sound[18..<20])
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.store))[60..<72] == sound[60..<72])
    }

    @Test(
        "A path next to a store that is not a regular file is named with its remedy, also by --repair and --set-aside",
        arguments: ["-wal", "-shm", "-journal", "-owners", "-notices"])
    func stray(suffix: String) async throws {
        try await folder.writeListWithGap()
        let path = folder.store + suffix
        for kind in ["fifo", "directory", "link"] {
            try? FileManager.default.removeItem(atPath: path)
            switch kind {
            case "fifo": #expect(mkfifo(path, 0o600) == 0)
            case "directory": try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            default: try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/nonexistent")
            }
            for arguments in [
                ["verify"], ["verify", "--repair", "--yes"], ["verify", "--set-aside", "--yes"], ["list"],
                ["sync", "list"],
            ] {
                let ended = try await tool(arguments)
                #expect(ended.status == 65, "\(kind) \(arguments): \(ended.errors)")
                #expect(ended.errors.contains("\(path) is a "), "\(kind) \(arguments): \(ended.errors)")
                #expect(
                    ended.errors.hasSuffix("not a regular file: remove it\n"), "\(kind) \(arguments): \(ended.errors)")
            }
        }
        try FileManager.default.removeItem(atPath: path)
        #expect(try await tool(["verify"]).status == 0)
    }

    @Test("A link to a missing directory is named with its remedy, and one to a missing file is followed by sync")
    func danglingLink() async throws {
        let target = "\(folder.path)/disk/store.sqlite"
        try FileManager.default.createSymbolicLink(atPath: folder.store, withDestinationPath: target)
        for arguments in [["list"], ["sync", "http://127.0.0.1:9/items"], ["verify"]] {
            let ended = try await tool(arguments)
            #expect(ended.status == 66, "\(arguments): \(ended.errors)")
            #expect(
                ended.errors.contains(
                    "is a symbolic link to \(target), which does not exist; remove the link, or create"),
                "\(ended.errors)")
            #expect(!ended.errors.contains("create it with"), "\(ended.errors)")
        }
        try FileManager.default.createDirectory(atPath: "\(folder.path)/disk", withIntermediateDirectories: false)
        #expect(try await tool(["list"]).status == 66)
        try await folder.writeListWithGap()
        #expect(FileManager.default.fileExists(atPath: target))
        #expect(try await tool(["verify"]).status == 0)
    }

    @Test("While a process is stopped before it recovers the log, other commands end as busy, not as internal")
    func stoppedBeforeRecovery() async throws {
        try await folder.writeListWithGap()
        // Byte 120 of the shared memory is SQLite's write lock, and byte 128 shows that a process uses it.
        let script = """
            import fcntl, os, subprocess, sys
            store, tool = sys.argv[1:3]
            for suffix in ('-wal', '-shm'):
                if os.path.exists(store + suffix): os.remove(store + suffix)
            file = os.open(store + '-shm', os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.lockf(file, fcntl.LOCK_SH, 1, 128)
            fcntl.lockf(file, fcntl.LOCK_EX, 1, 120)
            os.ftruncate(file, 32768)
            commands = [['list'], ['show', 'list'], ['verify'], ['gc', '--max-bytes', '1G']]
            running = [subprocess.Popen([tool] + c + ['--store', store], stdout=subprocess.PIPE, stderr=subprocess.PIPE) for c in commands]
            for command, process in zip(commands, running):
                output, errors = process.communicate()
                print(command[0], process.returncode, errors.decode().strip())
            """
        let ended = try await Program.run("/usr/bin/env", ["python3", "-c", script, folder.store, Tool.path])
        #expect(ended.status == 0, "\(ended.errors)")
        let lines = ended.output.split(separator: "\n")
        #expect(lines.count == 4)
        for line in lines {
            #expect(line.contains(" 75 "), "\(line)")
            #expect(line.contains("try again"), "\(line)")
        }
    }
}
#endif
