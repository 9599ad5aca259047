#if HTTP
import NIOCore
import NIOPosix

/// Runs the tasks that talk with one event loop on that loop's thread: otherwise every answer, and each part of a body,
/// would wake a thread of the pool, and every request the loop's.
///
/// The loops are of this module alone, a few for the whole process, and never end: on one that others share, whoever
/// blocks it would keep deadlines and cancelled requests from being told (R43). What runs here must never wait for
/// anything but the network.
final class EventLoopExecutor: TaskExecutor {
    let loop: any EventLoop
    private static let loops = MultiThreadedEventLoopGroup(numberOfThreads: min(4, System.coreCount))

    init() { loop = EventLoopExecutor.loops.next() }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
#endif
