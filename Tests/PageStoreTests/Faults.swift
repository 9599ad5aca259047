import FaultVFS
import Foundation
import PageModel
import PageStore
import StorageSupport
import Testing

/// A directory whose files fail on request.
final class FaultyFolder: @unchecked Sendable {
    // `@unchecked Sendable`, because the control is thread-safe and is freed only with the folder.
    let control: OpaquePointer
    let folder = Folder()

    init() {
        precondition(fault_vfs_register() == 0)
        // SQLite uses the real paths of files.
        control = fault_control_create(folder.realPath)!
    }

    deinit { fault_control_destroy(control) }

    var options: SQLitePageStore.Options {
        var options = SQLitePageStore.Options()
        options.fileSystem = "fault"
        options.busyBudget = .milliseconds(50)
        return options
    }

    /// Opens a store in the directory, and creates it if it is missing.
    func open() async throws -> SQLitePageStore {
        try await SQLitePageStore.openForTest(
            at: "\(folder.realPath)/store.sqlite", mode: .createIfMissing, options: options)
    }

    func arm(_ fault: Fault, at call: Int) {
        fault_arm(control, fault.kind, call, fault.isForEver, fault.code, fault.partial)
    }

    func disarm() { fault_disarm(control) }
    var fired: Int { fault_fired(control) }
}

/// One kind of file system failure.
struct Fault: Sendable, CustomTestStringConvertible {
    var name: String
    var kind: fault_kind
    var code: Int32
    var isForEver: Bool
    var partial: Int = -1

    var testDescription: String { "\(name), \(isForEver ? "forever" : "once")" }

    // Result codes: https://www.sqlite.org/rescode.html
    static let all: [Fault] = [false, true].flatMap { forEver in
        [
            Fault(name: "a read fails", kind: FAULT_READ, code: 266, isForEver: forEver),
            Fault(name: "a write fails", kind: FAULT_WRITE, code: 778, isForEver: forEver),
            Fault(name: "a write stops half way", kind: FAULT_WRITE, code: 778, isForEver: forEver, partial: 700),
            Fault(name: "the disk is full", kind: FAULT_WRITE, code: 13, isForEver: forEver),
            Fault(name: "a sync fails", kind: FAULT_SYNC, code: 1_034, isForEver: forEver),
            Fault(name: "a truncation fails", kind: FAULT_TRUNCATE, code: 1_546, isForEver: forEver),
            Fault(name: "the size cannot be read", kind: FAULT_FILE_SIZE, code: 1_802, isForEver: forEver),
            Fault(name: "a file cannot be opened", kind: FAULT_OPEN, code: 14, isForEver: forEver),
            Fault(name: "a lock fails", kind: FAULT_LOCK, code: 3_850, isForEver: forEver),
            Fault(name: "a deletion fails", kind: FAULT_DELETE, code: 2_570, isForEver: forEver),
            Fault(name: "the shared memory cannot be mapped", kind: FAULT_SHM_MAP, code: 5_386, isForEver: forEver),
            Fault(name: "a lock on the shared memory fails", kind: FAULT_SHM_LOCK, code: 5_130, isForEver: forEver),
        ]
    }
}

extension Folder {
    var realPath: String {
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}
