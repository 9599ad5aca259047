import Synchronization

/// A broadcast that is created with its first listener. Most lists never have a listener for their events.
///
/// State: the broadcast, once it exists, under a mutex.
struct LateBroadcast<Element: Sendable>: ~Copyable, Sendable {
    private let made = Mutex<Broadcast<Element>?>(nil)
    private let capacity: Int

    /// - Parameter capacity: the number of values buffered for a listener. When the buffer is full, the oldest value is
    ///   dropped.
    init(capacity: Int) { self.capacity = capacity }

    var hasListeners: Bool { made.withLock { $0 }?.hasListeners ?? false }

    func stream(whenOver: @escaping @Sendable () -> Void) -> AsyncStream<Element> {
        let broadcast = made.withLock { made in
            if let made { return made }
            let new = Broadcast<Element>(capacity: capacity)
            made = new
            return new
        }
        return broadcast.stream(whenOver: whenOver)
    }

    func send(_ value: Element) { made.withLock { $0 }?.send(value) }
}
