import PageModel

/// Pages that the origin forbids to keep (RFC 9111, 5.2.2.5: `no-store`), and how to ask for what comes behind them:
/// pure.
///
/// They follow the first so many items that are stored, or are the list from its first item on; they lie in memory
/// only, and end with who holds them. Of their items nothing is remembered here but the ids, so that none comes twice
/// (R5).
struct UnkeptPages: Equatable {
    /// What of an answer is to be shown.
    enum Step: Equatable {
        case news(PageContent)
        /// The answer cannot be used; the same page is what a retry asks for (R37).
        case failed(FetchFailure)
    }

    /// How many stored items they follow; with 0 page one is among them.
    let start: Int
    private(set) var count = 0
    private(set) var pages = 0
    private(set) var total = Total.unknown
    /// How to ask for the next page; nil at the end.
    private(set) var next: PageRequest.Target?
    private let access: PagingAccess
    private let loopGuard: Int
    private let emptyPageLimit: Int
    /// Where in the origin's list the next answer begins.
    private var position: Int
    /// How many items a page has that is not the last; nil while that is not known.
    private var fullPage: Int?
    // As bytes: two ways to write one letter are two ids (R5), and what is taken for a repetition is not shown.
    private var ids: Set<[UInt8]> = []
    /// Consecutive answers without a new item.
    private var withoutNews = 0

    init(behind start: Int, access: PagingAccess, loopGuard: Int, emptyPageLimit: Int = 1_000) {
        self.start = start
        self.access = access
        self.loopGuard = loopGuard
        self.emptyPageLimit = emptyPageLimit
        position = start
        if case .grid(let size) = access { fullPage = size }
    }

    /// Whether the list ends with them.
    var isAtEnd: Bool { pages > 0 && next == nil }

    /// Where they end in the list as it is shown.
    var end: Int { start + count }

    /// Whether an answer whose first item is at `offset` follows, or begins with items that are known.
    func isFollowed(by page: FetchedPage, at offset: Int) -> Bool {
        offset <= position && position <= offset + page.content.count
    }

    /// Lays in an answer whose first item is at `offset`; nil: where it was asked for.
    mutating func take(_ page: FetchedPage, at offset: Int? = nil) -> Step {
        if let failure = EndOfList.contradiction(in: page, access: access) { return .failed(failure) }
        if case .cursor(let asked) = next, page.next == asked, page.hasMore != false {
            return .failed(FetchFailure(.loop, "the origin's next page is the same page again", isRetryable: false))
        }
        let known = min(max(position - (offset ?? position), 0), page.content.count)
        let news = (known..<page.content.count).filter { index in
            page.content.ids.bytes(at: index).map { !ids.contains($0) } ?? true
        }
        // That page one itself is short tells nothing.
        let full = pages == 0 && start == 0 ? nil : fullPage
        let ending = EndOfList.decide(page, at: offset ?? position, full: full, access: access)
        let hasEnded = ending != .more || access == .single
        // R24: pages for ever with nothing new are a loop.
        let limit = page.content.isEmpty ? emptyPageLimit : loopGuard
        if news.isEmpty, !hasEnded, withoutNews + 1 >= limit {
            return .failed(
                FetchFailure(.loop, "\(withoutNews + 1) pages in a row brought nothing new", isRetryable: false))
        }
        withoutNews = news.isEmpty ? withoutNews + 1 : 0
        position = (offset ?? position) + page.content.count
        fullPage = fullPage ?? page.content.count
        if page.total != .unknown { total = page.total }
        var content = PageContent()
        for index in news { content.append(contentsOf: page.content.slice(index..<index + 1)) }
        ids.formUnion((0..<content.count).compactMap { content.ids.bytes(at: $0) })
        count += content.count
        pages += 1
        next = hasEnded ? nil : target(after: page)
        return .news(content)
    }

    /// The origin has nothing behind them (R24).
    mutating func ended() { next = nil }

    private mutating func target(after page: FetchedPage) -> PageRequest.Target? {
        switch access {
        case .chain:
            return page.next.map { .cursor($0) }
        case .offsets:
            return .offset(position)
        case .grid(let size):
            // R21: a page that was shorter than its place is not asked for again: nothing tells what is left of it.
            position = (position + size - 1) / max(size, 1) * size
            return .offset(position)
        case .single:
            return nil
        }
    }
}
