#if PostgreSQL
import Synchronization

/// A signal that ends the waits of all side threads. Each thread polls `descriptor`, which becomes readable when `send`
/// is called and stays readable. The reading end of the pipe is closed with the last reference to this object.
///
/// Mutable state: the writing end, under a mutex.
final class StopSignal: Sendable {
    let descriptor: Int32
    private let writingEnd: Mutex<Int32>

    init?() {
        guard let ends = CLibrary.pipe() else { return nil }
        descriptor = ends.read
        writingEnd = Mutex(ends.write)
    }

    deinit {
        send()
        CLibrary.close(descriptor)
    }

    func send() {
        writingEnd.withLock { end in
            if end >= 0 { CLibrary.close(end) }
            end = -1
        }
    }
}
#endif
