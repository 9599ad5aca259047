#if HTTP
import NIOCore
import NIOPosix

/// Runs tasks that use one event loop on the thread of that loop. Otherwise every answer, and every part of a body,
/// would wake a thread of the pool, and every request would wake the thread of the loop.
///
/// The loops belong to this module, at most four for the process, and never end. On a shared loop, other code that
/// blocks it could delay deadlines and cancellations (R43). Code that runs here must wait for the network only.
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
