#if PostgreSQL
import Synchronization

/// A message to the thread of the connections.
enum Command: Sendable {
    case submit(Submission)
    case cancel(Submission.ID)
    /// The transaction is over. Its connection serves other requests again.
    case release(TransactionID)
    case connected(connection: Int, Result<SessionHandle, PostgresError>)
    case cancelReturned(connection: Int, session: Int)
    case subscribe(UInt64, channel: String, AsyncStream<Notification>.Continuation)
    case unsubscribe(UInt64)
    case close(CheckedContinuation<Void, Never>?)
}

/// The commands for the reactor, and the pipe that wakes it.
///
/// Mutable state: the commands, whether the reactor sleeps, and the ends of the pipe, all under one mutex. The pipe is
/// closed when the reactor ends; later commands are refused.
final class Mailbox: Sendable {
    private struct State {
        var commands: [Command] = []
        var isSleeping = false
        var pipe: (read: Int32, write: Int32)?
    }

    private let state: Mutex<State>
    private let numbers = Atomic<UInt64>(0)
    /// The reading end of the pipe. Only the reactor uses it.
    let descriptor: Int32

    init?() {
        guard let pipe = CLibrary.pipe() else { return nil }
        descriptor = pipe.read
        state = Mutex(State(pipe: pipe))
    }

    /// Returns a new number for a request, a transaction or a subscriber.
    func nextNumber() -> UInt64 { numbers.add(1, ordering: .relaxed).newValue }

    /// The result of delivering a command.
    enum Delivery {
        /// The reactor handles the command before it sleeps.
        case delivered
        /// The reactor sleeps. The caller must handle the commands or wake the reactor.
        case needsHandling
        /// The reactor has ended.
        case refused
    }

    /// Delivers a command without waking the reactor.
    func deliver(_ command: Command) -> Delivery {
        state.withLock { state in
            guard state.pipe != nil else { return .refused }
            state.commands.append(command)
            defer { state.isSleeping = false }
            return state.isSleeping ? .needsHandling : .delivered
        }
    }

    /// Delivers a command and wakes the reactor if it sleeps. Returns false when the reactor has ended.
    @discardableResult
    func post(_ command: Command) -> Bool {
        switch deliver(command) {
        case .delivered: return true
        case .needsHandling:
            wake()
            return true
        case .refused: return false
        }
    }

    func wake() {
        // The write is under the mutex, because the end of the reactor closes the pipe.
        state.withLock { state in if let pipe = state.pipe { CLibrary.writeByte(pipe.write) } }
    }

    // MARK: For the reactor

    func take() -> [Command] {
        state.withLock { state in
            state.isSleeping = false
            defer { state.commands = [] }
            return state.commands
        }
    }

    /// Announces that the reactor sleeps. Returns false when commands are waiting.
    func sleep() -> Bool {
        state.withLock { state in
            state.isSleeping = state.commands.isEmpty
            return state.isSleeping
        }
    }

    /// Closes the pipe and returns the commands that the reactor has not handled.
    func end() -> [Command] {
        state.withLock { state in
            if let pipe = state.pipe {
                CLibrary.close(pipe.read)
                CLibrary.close(pipe.write)
            }
            state.pipe = nil
            defer { state.commands = [] }
            return state.commands
        }
    }
}
#endif
