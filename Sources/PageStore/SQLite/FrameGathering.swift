/// Which writes to a write-ahead log are held back, to be made as one.
///
/// A transaction reaches the log as frames: a header of 24 bytes, and the page (https://www.sqlite.org/fileformat2.html#the_write_ahead_log).
/// SQLite writes each with two calls, the one after the other: 24 calls for a page of 50 items, half of which touch two pages of the
/// file for the sake of a few bytes. The header of a transaction's last frame says so; with that frame's page it is complete.
///
/// Held back is only what is a frame without doubt, while the lock for writing is held, where this transaction has written nothing
/// yet. Anything else is written when it comes, after what is held.
struct FrameGathering: Equatable {
    enum Verdict: Equatable {
        /// To be written now.
        case pass
        /// To be held. Unless it is `behind` what is held already, that is written first. When it `completes` a transaction, all that
        /// is held is to be written now.
        case hold(behind: Bool, completes: Bool)
    }

    private struct Header: Equatable {
        var end: Int64
        var isLast: Bool
    }

    static let headerSize = 24
    private static let logHeaderSize: Int64 = 32

    /// How many bytes may be held.
    let capacity: Int
    /// The part of the log that is held.
    private(set) var held: Range<Int64> = 0..<0
    private var isTransaction = false
    /// Known from the first frame that was seen, and then for good: in WAL mode it does not change. 0 until then.
    private var pageSize = 0
    /// Of a frame whose page comes next.
    private var header: Header?
    /// Where what this transaction has written ends. Below, frames are written anew: in part, and not in order.
    private var written: Int64 = 0

    init(capacity: Int) { self.capacity = capacity }

    /// The lock for writing was taken.
    mutating func began() { self = with(isTransaction: true) }

    /// The lock for writing is given back, and nothing is held any more.
    mutating func ended() { self = with(isTransaction: false) }

    private func with(isTransaction: Bool) -> FrameGathering {
        var next = FrameGathering(capacity: capacity)
        next.pageSize = pageSize
        next.isTransaction = isTransaction
        return next
    }

    /// What was held has been written, or is lost.
    mutating func released() {
        written = max(written, held.upperBound)
        held = 0..<0
    }

    /// - Parameter isLast: where these are a frame's header, whether it says that its frame is a transaction's last.
    mutating func verdict(on count: Int, at offset: Int64, isLast: @autoclosure () -> Bool) -> Verdict {
        let end = offset + Int64(count)
        if let header, offset == header.end, isPage(count, at: offset) {
            self.header = nil
            pageSize = count
            guard held.upperBound == offset else { return passed(to: end) }
            held = held.lowerBound..<end
            return .hold(behind: true, completes: header.isLast)
        }
        guard isHeader(count, at: offset) else {
            header = nil
            return passed(to: end)
        }
        header = Header(end: end, isLast: isLast())
        guard isTransaction, pageSize > 0, offset >= max(written, held.upperBound) else { return passed(to: end) }
        let behind = !held.isEmpty && offset == held.upperBound && held.count + count + pageSize <= capacity
        if !behind { released() }
        held = (behind ? held.lowerBound : offset)..<end
        return .hold(behind: behind, completes: false)
    }

    private mutating func passed(to end: Int64) -> Verdict {
        released()
        written = max(written, end)
        return .pass
    }

    private func isHeader(_ count: Int, at offset: Int64) -> Bool {
        guard count == Self.headerSize, offset >= Self.logHeaderSize else { return false }
        return pageSize == 0 || (offset - Self.logHeaderSize).isMultiple(of: Int64(Self.headerSize + pageSize))
    }

    private func isPage(_ count: Int, at offset: Int64) -> Bool {
        guard pageSize == 0 else { return count == pageSize }
        return (512...65536).contains(count) && count.nonzeroBitCount == 1
            && (offset - Int64(Self.headerSize) - Self.logHeaderSize).isMultiple(of: Int64(Self.headerSize + count))
    }
}
