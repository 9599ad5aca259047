#if Tool
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Writes into a pipe while a transaction of the store is open.
///
/// The log of a store cannot be truncated beyond an open transaction (https://www.sqlite.org/wal.html, "Avoiding
/// Excessively Large WAL Files"). The reader of a pipe may take hours. Bytes that the reader does not take in time go
/// into an unnamed temporary file, and from there into the pipe after the transaction. Without room for that file, the
/// transaction stays open until the reader has taken the bytes.
///
/// State, behind the mutex: the file, and whether it can be used. The mutex also keeps the order of the bytes.
final class PipeSpool: Sendable {
    typealias Send = (UnsafeRawBufferPointer) -> Void

    private struct State {
        /// The descriptor of the file. `nil` while no file is in use: before the reader is late, and after the file was
        /// read back.
        var file: Int32?
        /// Whether no file can be created, or the disk is full.
        var isFull = false
        /// Whether bytes could not be read back.
        var hasFailed = false
    }

    // A pipe that is ready takes this many bytes without waiting (poll(2) and pipe(7): PIPE_BUF).
    #if os(Linux)
    private static let portion = 4_096
    #else
    private static let portion = 512
    #endif

    private let folder: String
    private let isReady: @Sendable () -> Bool
    private let state = Mutex(State())

    /// - Parameters:
    ///   - folder: the folder of the temporary file.
    ///   - isReady: waits until the pipe has room, or until a time limit. Returns whether the pipe has room.
    init(folder: String, isReady: @escaping @Sendable () -> Bool) {
        self.folder = folder
        self.isReady = isReady
    }

    deinit { state.withLock { if let file = $0.file { close(file) } } }

    /// Writes bytes after all earlier ones: into the pipe, or into the file when the reader is late.
    /// - Parameter send: writes into the pipe, and waits for the reader.
    func write(_ bytes: UnsafeRawBufferPointer, _ send: Send) {
        state.withLock { state in
            var rest = bytes
            while state.file == nil, !state.isFull, !rest.isEmpty, isReady() {
                let count = min(PipeSpool.portion, rest.count)
                send(UnsafeRawBufferPointer(rebasing: rest[..<count]))
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            }
            guard !rest.isEmpty else { return }
            if state.file == nil, !state.isFull { state.file = PipeSpool.unnamedFile(in: folder) }
            if let file = state.file {
                let count = PipeSpool.append(rest, to: file)
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                if rest.isEmpty { return }
            }
            PipeSpool.drain(&state, send)
            state.isFull = true
            send(rest)
        }
    }

    /// Writes the bytes of the file into the pipe, and removes the file.
    /// - Returns: false when bytes could not be read back. The output is not complete then.
    func finish(_ send: Send) -> Bool {
        state.withLock { state in
            PipeSpool.drain(&state, send)
            return !state.hasFailed
        }
    }

    /// A file without a name, which the system removes when the descriptor is closed. `nil` when none can be created.
    private static func unnamedFile(in folder: String) -> Int32? {
        // mkstemp(3) replaces the six letters, and creates the file with mode 0600.
        var path = Array("\(folder)/pagecache-\(String(repeating: "X", count: 6))".utf8CString)
        let file = mkstemp(&path)
        guard file >= 0 else { return nil }
        unlink(path)
        _ = fcntl(file, F_SETFD, FD_CLOEXEC)
        return file
    }

    /// - Returns: the number of bytes written. Fewer than all when the disk is full.
    private static func append(_ bytes: UnsafeRawBufferPointer, to file: Int32) -> Int {
        var written = 0
        while written < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
            let count = systemWrite(file, rest.baseAddress, rest.count)
            if count > 0 {
                written += count
            } else if count == 0 || errno != EINTR {
                break
            }
        }
        return written
    }

    private static func drain(_ state: inout State, _ send: Send) {
        guard let file = state.file else { return }
        state.file = nil
        defer { close(file) }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 1)
        defer { buffer.deallocate() }
        guard lseek(file, 0, SEEK_SET) == 0 else { return state.hasFailed = true }
        while true {
            let count = systemRead(file, buffer.baseAddress, buffer.count)
            if count > 0 {
                send(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            } else if count == 0 {
                return
            } else if errno != EINTR {
                return state.hasFailed = true
            }
        }
    }
}

private let systemWrite = write as @convention(c) (Int32, UnsafeRawPointer?, Int) -> Int
private let systemRead = read as @convention(c) (Int32, UnsafeMutableRawPointer?, Int) -> Int
#endif
