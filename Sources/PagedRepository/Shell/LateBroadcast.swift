import Synchronization

/// A broadcast that is made when somebody first listens: most lists are never asked for their events.
///
/// State: the broadcast, once it is there, under a mutex.
struct LateBroadcast<Element: Sendable>: ~Copyable, Sendable {
    private let made = Mutex<Broadcast<Element>?>(nil)
    private let capacity: Int

    /// - Parameter capacity: how many values wait for a listener; of more, the oldest are lost.
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
