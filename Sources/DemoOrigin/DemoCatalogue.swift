/// The list of the demo's origin. Ids are never reused.
struct DemoCatalogue: Sendable {
    private(set) var ids: [Int]
    private var nextID: Int

    init(count: Int) {
        // The newest item is first, as in a feed.
        ids = (0..<count).reversed().map { $0 }
        nextID = count
    }

    mutating func insert(at position: Int) {
        ids.insert(nextID, at: min(position, ids.count))
        nextID += 1
    }

    mutating func remove(at position: Int) {
        ids.remove(at: position)
    }

    func json(_ range: Range<Int>) -> [String] {
        ids[range.clamped(to: 0..<ids.count)].map(DemoCatalogue.json)
    }

    static func name(_ id: Int) -> String { "item-\(id)" }

    private static func json(_ id: Int) -> String {
        let words = ["amber", "brass", "cedar", "delta", "ember", "fjord", "grove", "harbour"]
        let title = "\(words[id % 8]) \(words[id / 8 % 8]) \(words[id / 64 % 8])"
        return
            #"{"id":"\#(name(id))","title":"\#(title)","price":\#(id % 900).50,"weight":1.0e\#(id % 3),"note":"größer als \#(id % 17) – exactly as sent"}"#
    }
}
