import Synchronization

/// What has come, and was not looked at.
///
/// State, under a mutex: other tasks put in, one task takes out, in the order in which it came.
final class Inbox<Element: Sendable>: Sendable {
    private let elements = Mutex<[Element]>([])

    func put(_ element: Element) { elements.withLock { $0.append(element) } }

    func take() -> [Element] {
        elements.withLock { elements in
            defer { elements = [] }
            return elements
        }
    }
}
