#if HTTP
import NIOCore

/// Runs the tasks that talk with one event loop on that loop's thread: otherwise every answer, and each part of a body, would wake
/// a thread of the pool, and every request the loop's.
///
/// What runs here must never wait for anything but the network, or the connections of a whole transport wait with it.
final class EventLoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(_ loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
#endif
