import Synchronization

/// Sends values to any number of listeners, each at its own pace.
///
/// State: the listeners, and the last value, if new listeners receive that value first. One mutex guards both, and it
/// is not held while other code runs. A listener is removed when its stream ends.
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
    ///   - current: the value that each new listener receives first. `nil` means that listeners receive only later
    ///     values. Defaults to nil.
    ///   - capacity: the number of values buffered for a listener. When the buffer is full, the oldest value is
    ///     dropped.
    init(current: Element? = nil, capacity: Int) {
        state = Mutex(State(current: current))
        self.capacity = capacity
        keepsCurrent = current != nil
    }

    var current: Element? { state.withLock { $0.current } }
    var hasListeners: Bool { state.withLock { !$0.listeners.isEmpty } }

    /// - Parameter whenOver: called once this listener has ended. The closure keeps the objects that it captures alive
    ///   as long as the listener.
    func stream(whenOver: @escaping @Sendable () -> Void) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream<Element>.makeStream(bufferingPolicy: .bufferingNewest(capacity))
        let number = state.withLock { state in
            state.nextNumber += 1
            state.listeners[state.nextNumber] = continuation
            // Yielded under the lock, so that the listener does not receive a newer value before this one.
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
