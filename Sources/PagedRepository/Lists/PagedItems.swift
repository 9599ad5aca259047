/// Items of a list in order, kept page by page. Successive snapshots share the pages that did not change.
public struct PagedItems<Value: Sendable>: RandomAccessCollection, Sendable {
    private var pages: [[Value]] = []
    /// The index of the first item of each page.
    private var starts: [Int] = []
    public private(set) var endIndex = 0

    /// An empty collection.
    public init() {}

    /// The items of these pages, in order.
    public init(_ pages: some Sequence<[Value]>) {
        for page in pages { append(page) }
    }

    mutating func append(_ page: [Value]) {
        guard !page.isEmpty else { return }
        pages.append(page)
        starts.append(endIndex)
        endIndex += page.count
    }

    mutating func append(contentsOf other: PagedItems) {
        if isEmpty { self = other } else { for page in other.pages { append(page) } }
    }

    /// The number of items in the first pages that both collections share. Their items are the same.
    func sharedCount(with other: PagedItems) -> Int {
        var count = 0
        for (own, page) in zip(pages, other.pages) {
            guard own.count == page.count, own.sharesMemory(with: page) else { break }
            count += own.count
        }
        return count
    }

    public var startIndex: Int { 0 }

    public subscript(position: Int) -> Value {
        precondition(position >= 0 && position < endIndex, "no such item")
        // The last page that begins at or before the position.
        var low = 0
        var high = starts.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if starts[middle] <= position { low = middle } else { high = middle }
        }
        return pages[low][position - starts[low]]
    }
}

extension Array {
    fileprivate func sharesMemory(with other: [Element]) -> Bool {
        withUnsafeBufferPointer { own in other.withUnsafeBufferPointer { own.baseAddress == $0.baseAddress } }
    }
}

extension PagedItems: Equatable where Value: Equatable {
    public static func == (left: PagedItems, right: PagedItems) -> Bool {
        left.count == right.count && left.elementsEqual(right)
    }
}
