import Synchronization

/// Holds elements that have arrived and were not handled yet.
///
/// State, under a mutex: other tasks add elements, and one task takes them in order of arrival.
final class Mailbox<Element: Sendable>: Sendable {
    private let elements = Mutex<[Element]>([])

    func put(_ element: Element) { elements.withLock { $0.append(element) } }

    func take() -> [Element] {
        elements.withLock { elements in
            defer { elements = [] }
            return elements
        }
    }
}
