#if PostgreSQL
/// A queue with constant-time removal at its front.
struct Fifo<Element> {
    private var storage: [Element] = []
    private var removed = 0

    init() {}

    init(_ elements: [Element]) { storage = elements }

    mutating func append(_ element: Element) { storage.append(element) }

    mutating func prepend(_ element: Element) {
        if removed > 0 {
            removed -= 1
            storage[removed] = element
        } else {
            storage.insert(element, at: 0)
        }
    }

    @discardableResult
    mutating func removeFirst() -> Element {
        let element = storage[removed]
        removed += 1
        // Each element is moved once on average.
        if removed * 2 >= storage.count {
            storage.removeFirst(removed)
            removed = 0
        }
        return element
    }

    mutating func removeAll(where isRemoved: (Element) -> Bool) {
        storage.removeFirst(removed)
        removed = 0
        storage.removeAll(where: isRemoved)
    }

    var first: Element? {
        get { removed < storage.count ? storage[removed] : nil }
        set { if let newValue, removed < storage.count { storage[removed] = newValue } }
    }
}

extension Fifo: RandomAccessCollection, MutableCollection {
    var startIndex: Int { removed }
    var endIndex: Int { storage.count }

    subscript(index: Int) -> Element {
        get { storage[index] }
        set { storage[index] = newValue }
    }
}

extension Fifo: Sendable where Element: Sendable {}
#endif
