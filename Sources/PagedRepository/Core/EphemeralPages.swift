import PageModel

/// Pages that the origin forbids storing (RFC 9111, 5.2.2.5: `no-store`), and the request for the next one. A pure
/// decision.
///
/// The pages follow the first `start` stored items, or form the list from its first item on. They exist in memory only,
/// as long as the list is in use. This type keeps only the ids of their items, so that no item appears twice (R5).
struct EphemeralPages: Equatable {
    /// The result of adding an answer.
    enum Step: Equatable {
        case news(PageContent)
        /// The answer cannot be used. A retry requests the same page (R37).
        case failed(FetchFailure)
    }

    /// The number of stored items before these pages. 0 means that page one is among them.
    let start: Int
    private(set) var count = 0
    private(set) var pages = 0
    private(set) var total = ListTotal.unknown
    /// The request for the next page. `nil` at the end.
    private(set) var next: PageRequest.Target?
    private let access: PagingAccess
    private let loopGuard: Int
    private let emptyPageLimit: Int
    /// The position at the origin where the next answer begins.
    private var position: Int
    /// The number of items of a page that is not the last. `nil` while unknown.
    private var fullPage: Int?
    // As bytes: two encodings of one letter are two ids (R5). An item that counts as repeated is not shown.
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

    /// Whether the list ends with these pages.
    var isAtEnd: Bool { pages > 0 && next == nil }

    /// The end of these pages in the list as it is shown.
    var end: Int { start + count }

    /// Whether the page whose first item is at `offset` continues these pages, possibly after known items.
    func isFollowed(by page: FetchedPage, at offset: Int) -> Bool {
        offset <= position && position <= offset + page.content.count
    }

    /// Adds an answer whose first item is at `offset`. `nil` means the requested position.
    mutating func take(_ page: FetchedPage, at offset: Int? = nil) -> Step {
        if let failure = EndOfList.contradiction(in: page, access: access) { return .failed(failure) }
        if case .cursor(let asked) = next, page.next == asked, page.hasMore != false {
            return .failed(FetchFailure(.loop, "the origin's next page is the same page again", isRetryable: false))
        }
        let known = min(max(position - (offset ?? position), 0), page.content.count)
        let news = (known..<page.content.count).filter { index in
            page.content.ids.bytes(at: index).map { !ids.contains($0) } ?? true
        }
        // A short page one proves nothing about the page size.
        let full = pages == 0 && start == 0 ? nil : fullPage
        let ending = EndOfList.decide(page, at: offset ?? position, full: full, access: access)
        let hasEnded = ending != .more || access == .single
        // Endless pages without a new item are a loop (R24).
        let limit = page.content.isEmpty ? emptyPageLimit : loopGuard
        if news.isEmpty, !hasEnded, withoutNews + 1 >= limit {
            return .failed(
                FetchFailure(.loop, "\(withoutNews + 1) consecutive pages had no new items", isRetryable: false))
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

    /// Marks the end: the origin has no items behind these pages (R24).
    mutating func ended() { next = nil }

    private mutating func target(after page: FetchedPage) -> PageRequest.Target? {
        switch access {
        case .chain:
            return page.next.map { .cursor($0) }
        case .offsets:
            return .offset(position)
        case .grid(let size):
            // A page that was shorter than the grid is not requested again: its missing items cannot be recognised
            // (R21).
            position = (position + size - 1) / max(size, 1) * size
            return .offset(position)
        case .single:
            return nil
        }
    }
}
