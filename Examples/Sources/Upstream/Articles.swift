/// Articles, the newest first. A new article is inserted at the head and moves all others by one.
struct Articles: Sendable {
    private let count: Int
    private let secondsForOneMore: Int
    private let begun = ContinuousClock.now

    init(count: Int, secondsForOneMore: Int) {
        self.count = count
        self.secondsForOneMore = secondsForOneMore
    }

    /// The present number of articles.
    private var total: Int {
        secondsForOneMore > 0
            ? count + Int((ContinuousClock.now - begun).components.seconds) / secondsForOneMore : count
    }

    /// Returns a page as JSON: the articles, the total, and the URL of the next page.
    func page(offset: Int, limit: Int) -> String {
        let total = total
        let start = min(max(offset, 0), total)
        let size = min(max(limit, 1), 100)
        let end = min(start + size, total)
        let items = (start..<end).map { position in
            #"{"id":\#(total - position),"title":"Article \#(total - position)"}"#
        }
        let next = end < total ? #""/articles?offset=\#(end)&limit=\#(size)""# : "null"
        return #"{"total":\#(total),"next":\#(next),"articles":[\#(items.joined(separator: ","))]}"#
    }
}
