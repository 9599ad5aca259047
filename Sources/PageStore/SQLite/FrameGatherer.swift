import CSQLite

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Writes to one log what `FrameGathering` says, and when.
///
/// State: what is held, and the memory it lies in; whether a write of this transaction has failed. All of it belongs to the
/// connection whose log it is, and dies with the log.
struct FrameGatherer {
    /// SQLite's VFS for POSIX writes no more than this with one call, and of a multiple of 128 KiB nothing.
    private static let capacity = 0x1ffff

    private let log: UnsafeMutablePointer<sqlite3_file>
    private var gathering = FrameGathering(capacity: capacity)
    private var start: Int64 = 0
    private var count = 0
    // Made when something is written for the first time: who only reads has no use for it. Where there is no memory, nothing is held.
    private var buffer: UnsafeMutableRawPointer?
    private var isWithoutBuffer = false
    /// Why something that was held could not be written, and where it would have begun: until the transaction ends nothing is written
    /// any more, and nothing read from there on, so that it cannot be committed.
    private var loss: (code: Int32, start: Int64)?

    init(_ log: UnsafeMutablePointer<sqlite3_file>) { self.log = log }

    func discard() { free(buffer) }

    mutating func transactionBegan() { gathering.began() }

    /// What is held is no commit: that has been written. SQLite would have written it, and so it is; nobody reads it.
    mutating func transactionEnds() {
        _ = flush()
        gathering.ended()
        loss = nil
    }

    mutating func write(_ bytes: UnsafeRawPointer, _ size: Int32, at offset: Int64) -> Int32 {
        if let loss { return loss.code }
        guard hasBuffer() else { return log.pointee.pMethods.pointee.xWrite(log, bytes, size, offset) }
        // Bytes 4 to 7 of a frame's header are zero in all but a transaction's last.
        let verdict = gathering.verdict(on: Int(size), at: offset, isLast: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self) != 0)
        guard case .hold(let behind, let completes) = verdict else {
            let code = writeHeld()
            return code == SQLITE_OK ? log.pointee.pMethods.pointee.xWrite(log, bytes, size, offset) : code
        }
        if !behind {
            let code = writeHeld()
            guard code == SQLITE_OK else { return code }
            start = offset
        }
        hold(bytes, Int(size))
        return completes ? flush() : SQLITE_OK
    }

    mutating func read(_ bytes: UnsafeMutableRawPointer, _ size: Int32, at offset: Int64) -> Int32 {
        _ = flush()
        if let loss, offset + Int64(size) > loss.start { return loss.code }
        return log.pointee.pMethods.pointee.xRead(log, bytes, size, offset)
    }

    /// Writes what is held.
    /// - Returns: what came of it; where something is lost already, why.
    mutating func flush() -> Int32 {
        if let loss { return loss.code }
        gathering.released()
        return writeHeld()
    }

    private mutating func writeHeld() -> Int32 {
        guard count > 0, let buffer else { return SQLITE_OK }
        let code = log.pointee.pMethods.pointee.xWrite(log, buffer, Int32(count), start)
        if code != SQLITE_OK { loss = (code, start) }
        count = 0
        return code
    }

    private mutating func hasBuffer() -> Bool {
        if buffer == nil, !isWithoutBuffer {
            buffer = malloc(Self.capacity)
            isWithoutBuffer = buffer == nil
        }
        return !isWithoutBuffer
    }

    private mutating func hold(_ bytes: UnsafeRawPointer, _ size: Int) {
        (buffer! + count).copyMemory(from: bytes, byteCount: size)
        count += size
    }
}
