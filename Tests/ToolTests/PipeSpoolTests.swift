#if Tool
import StorageSupport
import Synchronization
import Testing

@testable import pagecache

@Suite("The way into a pipe while a transaction is open")
struct PipeSpoolTests {
    private let folder = Folder()
    private let bytes = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }

    /// Writes all bytes in pieces, into a pipe that takes bytes this many times.
    /// - Returns: the number of bytes that were sent before the end, and all sent bytes.
    private func written(in folder: String, readyTimes: Int) -> (early: Int, all: [UInt8]) {
        let times = Mutex(0)
        let spool = PipeSpool(folder: folder) {
            times.withLock { count in
                count += 1
                return count <= readyTimes
            }
        }
        var sent: [UInt8] = []
        bytes.withUnsafeBytes { all in
            for start in stride(from: 0, to: all.count, by: 70_000) {
                let piece = UnsafeRawBufferPointer(rebasing: all[start..<min(start + 70_000, all.count)])
                spool.write(piece) { sent += $0 }
            }
        }
        let early = sent.count
        let isWhole = spool.finish { sent += $0 }
        #expect(isWhole)
        return (early, sent)
    }

    @Test("A reader that keeps up receives every byte at once, and no file is needed")
    func quick() {
        let (early, all) = written(in: "/nonexistent", readyTimes: .max)
        #expect(early == bytes.count)
        #expect(all == bytes)
    }

    @Test("Bytes for a late reader wait in a file without a name, in order", arguments: [0, 1, 30])
    func late(readyTimes: Int) {
        let (early, all) = written(in: folder.path, readyTimes: readyTimes)
        #expect(early < bytes.count / 2 && (early > 0) == (readyTimes > 0))
        #expect(all == bytes)
        #expect(folder.contents.isEmpty)
    }

    @Test("Without a file the reader is waited for, and no byte is lost")
    func noFile() {
        let (early, all) = written(in: "/nonexistent", readyTimes: 2)
        #expect(early == bytes.count)
        #expect(all == bytes)
    }
}
#endif
