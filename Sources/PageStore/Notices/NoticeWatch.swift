import Dispatch
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Calls a closure when a file has been written to, without polling. Uses inotify(7) on Linux, and a vnode source on
/// Apple systems.
final class NoticeWatch: Sendable {
    // Dispatch sources may be used from any thread, but Dispatch does not declare them as `Sendable`.
    private nonisolated(unsafe) let source: any DispatchSourceProtocol

    /// Starts the watch. Returns nil when the kernel grants no more watches.
    /// - Parameters:
    ///   - path: the file to watch.
    ///   - call: runs on a queue of its own, one call at a time.
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
            // The events are drained before `call` reads the table, so a write after that read is a new event.
            var events = [UInt8](repeating: 0, count: 4_096)
            while read(descriptor, &events, events.count) > 0 {}
            call()
            // The first write is reported at once. Later writes are collected for five milliseconds, so a busy writer
            // does not keep its watchers busy.
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
