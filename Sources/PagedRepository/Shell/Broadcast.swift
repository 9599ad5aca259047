import Synchronization

/// Sends values to any number of listeners, each at its own pace.
///
/// State: the listeners, and the last value where new listeners get it first; under one mutex, which is not held while
/// anybody's code runs. A listener ends with its stream.
final class Broadcast<Element: Sendable>: Sendable {
    private struct State {
        var current: Element?
        var listeners: [Int: AsyncStream<Element>.Continuation] = [:]
        var nextNumber = 0
    }

    private let state: Mutex<State>
    private let capacity: Int
    private let keepsCurrent: Bool

    /// - Parameters:
    ///   - current: what listeners get first; nil when they get only what comes.
    ///   - capacity: how many values wait for a listener; of more, the oldest are lost.
    init(current: Element? = nil, capacity: Int) {
        state = Mutex(State(current: current))
        self.capacity = capacity
        keepsCurrent = current != nil
    }

    var current: Element? { state.withLock { $0.current } }
    var hasListeners: Bool { state.withLock { !$0.listeners.isEmpty } }

    /// - Parameter whenOver: called once this listener has gone. What it holds lives for as long as somebody listens.
    func stream(whenOver: @escaping @Sendable () -> Void) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream<Element>.makeStream(bufferingPolicy: .bufferingNewest(capacity))
        let number = state.withLock { state in
            state.nextNumber += 1
            state.listeners[state.nextNumber] = continuation
            // Under the lock, so that no newer value comes before it.
            if let current = state.current { continuation.yield(current) }
            return state.nextNumber
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.listeners.removeValue(forKey: number) }
            whenOver()
        }
        return stream
    }

    func send(_ value: Element) {
        let listeners = state.withLock { state in
            if keepsCurrent { state.current = value }
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.yield(value) }
    }
}
