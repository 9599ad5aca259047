#if PostgreSQL
import CPostgres

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The calls of the C library that this folder needs: pipes, poll and threads.
enum CLibrary {
    typealias PollItem = pollfd

    /// Makes a pipe whose ends are nonblocking and closed in child processes. Returns nil when no descriptor is free.
    static func pipe() -> (read: Int32, write: Int32)? {
        var ends: [Int32] = [-1, -1]
        #if canImport(Glibc)
        guard Glibc.pipe(&ends) == 0 else { return nil }
        #elseif canImport(Musl)
        guard Musl.pipe(&ends) == 0 else { return nil }
        #else
        guard Darwin.pipe(&ends) == 0 else { return nil }
        #endif
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK)
        }
        return (ends[0], ends[1])
    }

    static func close(_ descriptor: Int32) {
        #if canImport(Glibc)
        _ = Glibc.close(descriptor)
        #elseif canImport(Musl)
        _ = Musl.close(descriptor)
        #else
        _ = Darwin.close(descriptor)
        #endif
    }

    static func writeByte(_ descriptor: Int32) {
        var byte: UInt8 = 0
        _ = write(descriptor, &byte, 1)
    }

    static func drain(_ descriptor: Int32) {
        withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
            while read(descriptor, buffer.baseAddress, buffer.count) == buffer.count {}
        }
    }

    static func pollItem(_ descriptor: Int32, read: Bool, write: Bool) -> PollItem {
        PollItem(fd: descriptor, events: Int16((read ? POLLIN : 0) | (write ? POLLOUT : 0)), revents: 0)
    }

    /// Waits until a descriptor is ready, or until the timeout has passed. `nil` means no timeout.
    static func wait(_ items: inout [PollItem], timeout: Duration?) {
        var milliseconds: Int32 = -1
        if let timeout {
            // The timeout is rounded up to a millisecond, so that the deadline has passed after the wait. A longer
            // timeout ends after an hour, and the caller then waits again.
            let (seconds, attoseconds) = min(max(timeout, .zero), .seconds(3_600)).components
            milliseconds = Int32(seconds * 1_000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
        }
        _ = poll(&items, nfds_t(items.count), milliseconds)
    }

    static func hasEvents(_ item: PollItem) -> Bool { item.revents != 0 }

    /// Whether a read would not wait. Errors count, because a read reports them.
    static func isReadable(_ item: PollItem) -> Bool {
        item.revents & Int16(POLLIN | POLLERR | POLLHUP | POLLNVAL) != 0
    }

    /// Runs `body` on a new thread that ends when `body` returns. All signals are blocked on the thread. Returns false
    /// if no thread could be started.
    static func startThread(_ body: @escaping @Sendable () -> Void) -> Bool {
        final class Box {
            let body: @Sendable () -> Void
            init(_ body: @escaping @Sendable () -> Void) { self.body = body }

            func run() {
                pagecache_name_thread("pagecache-pg")
                body()
            }
        }
        let box = Unmanaged.passRetained(Box(body))
        var (all, previous) = (sigset_t(), sigset_t())
        sigfillset(&all)
        // A thread inherits the mask of its creator.
        pthread_sigmask(SIG_SETMASK, &all, &previous)
        defer { pthread_sigmask(SIG_SETMASK, &previous, nil) }
        #if canImport(Darwin)
        var thread: pthread_t?
        #else
        var thread = pthread_t()
        #endif
        let code = pthread_create(
            &thread, nil,
            { argument in
                #if canImport(Darwin)
                Unmanaged<Box>.fromOpaque(argument).takeRetainedValue().run()
                #else
                if let argument { Unmanaged<Box>.fromOpaque(argument).takeRetainedValue().run() }
                #endif
                return nil
            }, box.toOpaque())
        guard code == 0 else {
            box.release()
            return false
        }
        #if canImport(Darwin)
        if let thread { pthread_detach(thread) }
        #else
        pthread_detach(thread)
        #endif
        return true
    }
}
#endif
