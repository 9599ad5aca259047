import Dispatch
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Calls back when a file has been written to, and costs nothing while it is not: inotify(7) on Linux, a vnode source
/// on Apple systems.
final class NoticeWatch: Sendable {
    // Because Dispatch does not say that its sources may be used from any thread, which they may.
    private nonisolated(unsafe) let source: any DispatchSourceProtocol

    /// - Parameter call: called on a queue of its own, one call at a time.
    /// - Returns: nil when the kernel gives no more watches; then nobody is told.
    init?(path: String, call: @escaping @Sendable () -> Void) {
        let queue = DispatchQueue(label: "pagecache.notices")
        #if os(Linux)
        let descriptor = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
        guard descriptor >= 0 else { return nil }
        guard inotify_add_watch(descriptor, path, UInt32(IN_MODIFY)) >= 0 else {
            close(descriptor)
            return nil
        }
        let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        source.setEventHandler {
            // Taken out before the table is read, so that a write after the read is an event of its own.
            var events = [UInt8](repeating: 0, count: 4_096)
            while read(descriptor, &events, events.count) > 0 {}
            call()
            // The first write is told at once. Those that follow are gathered for a moment: a busy writer must not keep
            // its watchers busy.
            usleep(5_000)
        }
        #else
        let descriptor = open(path, O_EVTONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        let source = DispatchSource.makeFileSystemObjectSource(
            fileDescriptor: descriptor, eventMask: .write, queue: queue)
        source.setEventHandler {
            call()
            usleep(5_000)
        }
        #endif
        source.setCancelHandler { close(descriptor) }
        source.activate()
        self.source = source
    }

    deinit { source.cancel() }
}
