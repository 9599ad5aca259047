import CSQLite
import Foundation
import PagedRepositoryTesting
import Testing

@testable import PageStore

/// A log in memory that counts what is written to it, and fails on demand.
private final class MemoryLog {
    var bytes: [UInt8] = []
    var writes = 0
    /// Which write from now on fails, once.
    var failsAt: Int?
    let file: UnsafeMutablePointer<pagecache_file>
    private let methods = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)

    init() {
        file = .allocate(capacity: 1)
        file.initialize(to: pagecache_file())
        methods.initialize(to: sqlite3_io_methods())
        methods.pointee.xWrite = { file, source, count, offset in MemoryLog.of(file).write(source!, Int(count), Int(offset)) }
        methods.pointee.xRead = { file, target, count, offset in MemoryLog.of(file).read(target!, Int(count), Int(offset)) }
        file.pointee.base.pMethods = UnsafePointer(methods)
        file.pointee.gatherer = Unmanaged.passUnretained(self).toOpaque()
    }

    deinit {
        file.deallocate()
        methods.deallocate()
    }

    private static func of(_ file: UnsafeMutablePointer<sqlite3_file>?) -> MemoryLog {
        let file = UnsafeMutableRawPointer(file!).assumingMemoryBound(to: pagecache_file.self)
        return Unmanaged<MemoryLog>.fromOpaque(file.pointee.gatherer).takeUnretainedValue()
    }

    private func write(_ source: UnsafeRawPointer, _ count: Int, _ offset: Int) -> Int32 {
        writes += 1
        #expect(count % 0x20000 != 0, "SQLite's own VFS writes nothing of that")
        if let failsAt {
            self.failsAt = failsAt > 1 ? failsAt - 1 : nil
            if failsAt == 1 { return SQLITE_FULL }
        }
        bytes.put(UnsafeRawBufferPointer(start: source, count: count), at: offset)
        return SQLITE_OK
    }

    private func read(_ target: UnsafeMutableRawPointer, _ count: Int, _ offset: Int) -> Int32 {
        // SQLITE_IOERR_SHORT_READ
        guard offset + count <= bytes.count else { return 522 }
        bytes.withUnsafeBytes { target.copyMemory(from: $0.baseAddress! + offset, byteCount: count) }
        return SQLITE_OK
    }
}

extension [UInt8] {
    fileprivate mutating func put(_ source: some Collection<UInt8>, at offset: Int) {
        if count < offset + source.count { self += [UInt8](repeating: 0, count: offset + source.count - count) }
        replaceSubrange(offset..<offset + source.count, with: source)
    }
}

/// Writes to a log as SQLite does, and remembers what would be in it without a gatherer.
private struct Writer {
    let log = MemoryLog()
    var gatherer: FrameGatherer
    var expected: [UInt8] = []
    var random: SeededGenerator
    let pageSize: Int
    /// What a call has failed with: then SQLite rolls back.
    var failure = SQLITE_OK

    init(pageSize: Int, seed: UInt64) {
        random = SeededGenerator(seed: seed)
        self.pageSize = pageSize
        gatherer = log.file.withMemoryRebound(to: sqlite3_file.self, capacity: 1) { FrameGatherer($0) }
    }

    func place(_ frame: Int) -> Int { 32 + frame * (24 + pageSize) }

    func isInLog(upTo frame: Int) -> Bool {
        let count = min(place(frame), expected.count)
        return log.bytes.count >= count
            && log.bytes.withUnsafeBytes { log in expected.withUnsafeBytes { memcmp(log.baseAddress!, $0.baseAddress!, count) == 0 } }
    }

    /// Another process commits behind what is there.
    mutating func othersWrite(upTo frame: Int) {
        let theirs = [UInt8](repeating: .random(in: 0...255, using: &random), count: place(frame) - expected.count)
        log.bytes.put(theirs, at: expected.count)
        expected += theirs
    }

    mutating func write(_ bytes: [UInt8], at offset: Int) {
        guard failure == SQLITE_OK else { return }
        failure = gatherer.write(bytes, Int32(bytes.count), at: Int64(offset))
        if failure == SQLITE_OK { expected.put(bytes, at: offset) }
    }

    mutating func writeHeader(_ frame: Int, isLast: Bool) {
        let seed = UInt8.random(in: 0...255, using: &random)
        write([seed, 0, 0, 1] + (isLast ? [0, 0, seed, 1] : [0, 0, 0, 0]) + [UInt8](repeating: seed, count: 16), at: place(frame))
    }

    mutating func writePage(_ frame: Int) {
        write([UInt8](repeating: .random(in: 0...255, using: &random), count: pageSize), at: place(frame) + 24)
    }

    mutating func read(_ frame: Int) {
        guard failure == SQLITE_OK else { return }
        var bytes = [UInt8](repeating: 0, count: 24 + pageSize)
        failure = gatherer.read(&bytes, Int32(bytes.count), at: Int64(place(frame)))
        guard failure == SQLITE_OK else { return }
        #expect(expected.withUnsafeBytes { memcmp(bytes, $0.baseAddress! + place(frame), bytes.count) == 0 })
    }
}

@Suite("Frames of a log are gathered")
struct FrameGathererTests {
    @Test("a transaction is one write, once it has been seen how large pages are; a long one is as many as it needs")
    func one() {
        var writer = Writer(pageSize: 4096, seed: 1)
        for (transaction, frames) in [1, 1, 2, 31, 32, 100].enumerated() {
            let before = writer.log.writes
            writer.gatherer.transactionBegan()
            for frame in 0..<frames {
                writer.writeHeader(frame, isLast: frame == frames - 1)
                #expect(transaction == 0 || frame % 31 != 30 || writer.log.writes == before + frame / 31)
                writer.writePage(frame)
            }
            #expect(writer.log.bytes == writer.expected, "before anybody is told")
            #expect(writer.log.writes - before == (transaction == 0 ? 2 : (frames + 30) / 31))
            writer.gatherer.transactionEnds()
        }
        writer.gatherer.discard()
    }

    @Test("nothing is held by who has no lock for writing")
    func unlocked() {
        var writer = Writer(pageSize: 512, seed: 1)
        for frame in 0..<5 {
            writer.writeHeader(frame, isLast: false)
            writer.writePage(frame)
            #expect(writer.log.bytes == writer.expected)
        }
    }

    @Test("a write that fails is told, and nothing of that transaction is written or read any more; the next one is")
    func lost() {
        var writer = Writer(pageSize: 512, seed: 1)
        writer.gatherer.transactionBegan()
        writer.writeHeader(0, isLast: true)
        writer.writePage(0)
        writer.gatherer.transactionEnds()
        writer.gatherer.transactionBegan()
        writer.writeHeader(1, isLast: false)
        writer.writePage(1)
        writer.log.failsAt = 1
        writer.read(1)
        #expect(writer.failure == SQLITE_FULL, "what is held is written before something is read")
        writer.failure = SQLITE_OK
        writer.read(0)
        #expect(writer.failure == SQLITE_OK, "what is before it is whole")
        writer.writeHeader(2, isLast: true)
        #expect(writer.failure == SQLITE_FULL, "the disk has room again, but a frame is missing")
        writer.gatherer.transactionEnds()
        writer.failure = SQLITE_OK
        writer.gatherer.transactionBegan()
        for frame in 1..<3 {
            writer.writeHeader(frame, isLast: frame == 2)
            writer.writePage(frame)
        }
        #expect(writer.failure == SQLITE_OK)
        #expect(writer.log.bytes == writer.expected)
        writer.gatherer.discard()
    }

    @Test(
        "whatever SQLite writes, in whatever order, is in the log when others may see it, or it was told that it is not",
        arguments: [512, 4096, 65536], 1..<9 as Range<UInt64>)
    func any(pageSize: Int, seed: UInt64) {
        var writer = Writer(pageSize: pageSize, seed: seed)
        var committed = 0
        var (commits, failed, held) = (0, 0, 0)
        for _ in 0..<(pageSize > 4096 ? 40 : 120) {
            if Int.random(in: 0..<4, using: &writer.random) == 0 { writer.log.failsAt = Int.random(in: 1..<6, using: &writer.random) }
            writer.gatherer.transactionBegan()
            // Now and then the log begins anew.
            let first = Int.random(in: 0..<4, using: &writer.random) == 0 ? 0 : committed
            if first == 0 { writer.write([UInt8](repeating: 7, count: 32), at: 0) }
            let end = transaction(from: first, &writer)
            let isCommitted = writer.failure == SQLITE_OK && end > first
            if isCommitted {
                commits += 1
                #expect(writer.isInLog(upTo: end))
            }
            if !isCommitted, !writer.isInLog(upTo: 1_000_000) { held += 1 }
            if writer.failure != SQLITE_OK { failed += 1 }
            writer.gatherer.transactionEnds()
            if isCommitted { committed = end } else if first == 0 { committed = 0 }
            // What no commit stands for may be anything, and is for others to write.
            writer.expected = Array(writer.expected.prefix(writer.place(committed)))
            if Bool.random(using: &writer.random) {
                committed = max(committed, first) + 20
                writer.othersWrite(upTo: committed)
            }
            #expect(writer.isInLog(upTo: committed))
            (writer.failure, writer.log.failsAt) = (SQLITE_OK, nil)
        }
        #expect(commits > 3 && failed > 3 && held > 0, "\(commits), failures \(failed), held at an end \(held)")
        writer.gatherer.discard()
    }

    /// Frames, some of them written again, given up to a savepoint, read; then a commit, or none.
    /// - Returns: where the last frame ends; `first` when nothing was committed.
    private func transaction(from first: Int, _ writer: inout Writer) -> Int {
        var (next, rewritten) = (first, Int.max)
        for _ in 0..<Int.random(in: 0..<60, using: &writer.random) {
            let earlier = first < next ? Int.random(in: first..<next, using: &writer.random) : nil
            switch (Int.random(in: 0..<40, using: &writer.random), earlier) {
            case (0, let earlier?):
                writer.writePage(earlier)
                rewritten = min(rewritten, earlier)
            case (1, let earlier?): writer.read(earlier)
            case (2, let earlier?): (next, rewritten) = (earlier, .max)
            case (3, _): if writer.failure == SQLITE_OK { writer.failure = writer.gatherer.flush() }
            default:
                writer.writeHeader(next, isLast: false)
                writer.writePage(next)
                next += 1
            }
        }
        guard Int.random(in: 0..<4, using: &writer.random) > 0 else { return first }
        writer.writeHeader(next, isLast: true)
        writer.writePage(next)
        next += 1
        // A page that was written again has changed all checksums behind it: SQLite reads each frame, and writes its header again.
        for frame in min(rewritten, next)..<next {
            writer.read(frame)
            writer.writeHeader(frame, isLast: frame == next - 1)
        }
        return next
    }
}
