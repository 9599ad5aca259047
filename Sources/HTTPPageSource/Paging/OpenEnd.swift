import PageModel

/// A page one that announces more items than it has, and shows no way to request them. Such a page is a part of its
/// list.
struct OpenEnd {
    private typealias Setting = HTTPSourceConfiguration.Setting

    /// The evidence, and the setting that may help, in one line.
    var reason: String
    /// Whether page one may still be the whole list: it has the size of a full page, or no parameter of a named style
    /// works.
    var isSuspicion = false

    /// Page sizes that origins use by themselves: round numbers, powers of two, and rows and columns of a grid.
    static let usualSizes: Set<Int> = [
        10, 12, 14, 15, 16, 18, 20, 21, 24, 25, 27, 28, 30, 32, 35, 36, 40, 42, 45, 48, 49, 50, 54, 56, 60, 63, 64, 70,
        72, 75, 80, 81, 84, 90, 96, 99, 100, 108, 120, 125, 128, 144, 150, 160, 180, 192, 200, 240, 250, 256, 300, 360,
        400, 450, 500, 512, 600, 720, 750, 800, 900, 999, 1_000, 1_024, 1_200, 1_500, 2_000, 2_048, 2_500, 3_000, 4_000,
        4_096, 5_000, 10_000, 20_000, 25_000, 50_000, 100_000,
    ]

    /// Detection was interrupted, so the page may be a part of the list.
    static let interrupted = OpenEnd("the way to the next page is not known yet")

    /// An answer to a probe could not be read, so the page may be a part of the list.
    static func unreadable(_ detail: String) -> OpenEnd {
        OpenEnd(
            "page one is not the whole list, and the answer to a request for the next page cannot be used: \(detail)")
    }

    /// No parameter of the style that the caller named works, and no answer to one shows that the list ends.
    static func unproved(
        _ paging: HTTPSourceConfiguration.Paging, method: HTTPSourceConfiguration.Method
    ) -> OpenEnd {
        let advice = advice(paging, Parameters(method))
        return OpenEnd(
            "no answer shows that the list ends; \(advice), or accept page one as the whole list with \(Setting.paging.assigned("none"))",
            isSuspicion: true)
    }

    /// A candidate returned items that page one lacks, and did not prove itself.
    static func unexplained(_ candidate: String) -> OpenEnd {
        OpenEnd(
            "a request with \(candidate) returned other items than page one, and did not prove itself; the next run tries again, or name one with \(Setting.paging)"
        )
    }

    /// The open end that an earlier search found.
    static func found(_ reason: String) -> OpenEnd { OpenEnd(reason) }

    private init(_ reason: String, isSuspicion: Bool = false) {
        self.reason = reason
        self.isSuspicion = isSuspicion
    }

    /// The open end of a list that is read as one page. Returns nil when the page can be the whole list.
    /// - Parameters:
    ///   - sizes: sizes that the URL, the caller or the answer states.
    ///   - most: the largest number of items that page one had before. `nil` if it is not known.
    ///   - response: the answer that is page one.
    ///   - paging: the style that the caller named.
    ///   - method: the method of the requests. The parameters of a POST request are in its body.
    static func find(
        _ draft: DetectionDraft, sizes: Set<Int>, most: Int?, response: HTTPPageResponse,
        paging: HTTPSourceConfiguration.Paging, method: HTTPSourceConfiguration.Method
    ) -> OpenEnd? {
        let evidence = draft.evidence
        let parameters = Parameters(method)
        let way = evidence.suggestion ?? advice(paging, parameters)
        guard evidence.count > 0 || evidence.goesOn, evidence.hasMore != false else { return nil }
        if isRanged(response), evidence.exactTotal.map({ $0 > evidence.count }) ?? true {
            return OpenEnd(
                "the origin pages by the Range header of requests, which is not supported; name a parameter with \(Setting.offsetParameter), or accept page one with \(Setting.paging.assigned("none"))"
            )
        }
        if let inner = evidence.innerList {
            let items = draft.description.items.description
            return OpenEnd(
                "the items at \(items) have no id and hold lists themselves (\(inner)): name the list with \(Setting.items), such as \(Setting.items.assigned(inner)) or \(Setting.items.assigned(items))"
            )
        }
        // If the origin also states that the list ends, a token that no parameter takes may be for later changes.
        if let place = evidence.token?.place, evidence.hasStrongToken, !evidence.isMoreDenied {
            return OpenEnd("no parameter takes the token at \(place); name one with \(parameters.cursor)")
        }
        if let part = evidence.part {
            return OpenEnd(
                "the origin says that its answer is a part of the list (\(part)), and shows no way to the rest; \(way)")
        }
        if evidence.hasMore == true {
            return OpenEnd("the origin says that there is more, and shows no way to it; \(way)")
        }
        if let total = evidence.total.count, total > evidence.count {
            let number = evidence.exactTotal == nil ? "about \(total)" : "\(total)"
            return OpenEnd(
                "the origin counts \(number) items, returned \(evidence.count), and names no next page; \(way)"
            )
        }
        if evidence.isLowerBound, evidence.count > 0, evidence.total.count == evidence.count {
            return OpenEnd("the origin counts at least \(evidence.count) items, and shows no way to more; \(way)")
        }
        if evidence.exactTotal != nil { return nil }
        if let place = evidence.openRange {
            return OpenEnd("\(place) counts the page and more items, and the answer shows no way to them; \(way)")
        }
        if let pages = evidence.pageCount, pages > 1 {
            return OpenEnd(
                "the origin counts \(pages) pages, and shows no way to the second; name its parameter with \(parameters.page)"
            )
        }
        if let remaining = evidence.remaining, remaining > 0 {
            return OpenEnd(
                "the origin counts \(remaining) more items, and shows no way to them; \(way)")
        }
        let isFull = sizes.contains(evidence.count) || usualSizes.contains(evidence.count)
        guard isFull, !evidence.deniesNext, !evidence.isMoreDenied, most ?? 0 <= evidence.count,
            evidence.pageCount == nil
        else { return nil }
        return OpenEnd(
            "the answer is a full page of \(evidence.count) items, and shows no way to request another page; \(way), or accept the page as the whole list with \(Setting.paging.assigned("none"))",
            isSuspicion: true)
    }

    /// The settings that name a parameter.
    private struct Parameters {
        var offset = Setting.offsetParameter, page = Setting.pageParameter, cursor = Setting.cursorParameter

        init(_ method: HTTPSourceConfiguration.Method) {
            if method == .post { (offset, page, cursor) = (.cursorIn, .cursorIn, .cursorIn) }
        }
    }

    /// The setting that may help, by the style that the caller named.
    private static func advice(_ paging: HTTPSourceConfiguration.Paging, _ parameters: Parameters) -> String {
        let style = Setting.paging.assigned(paging.rawValue)
        return switch paging {
        case .auto, .none: "name the style with \(Setting.paging)"
        case .offset: "no parameter for \(style) has proved itself: name one with \(parameters.offset)"
        case .page: "no parameter for \(style) has proved itself: name one with \(parameters.page)"
        case .keyset: "no parameter for \(style) has proved itself: name one with \(parameters.cursor)"
        case .cursor: "page one has no token for \(style): name its place with \(Setting.next)"
        case .link: "page one has no link for \(style): name its header with \(Setting.next.assigned("header:NAME"))"
        case .nextURL: "page one has no URL for \(style): name its place with \(Setting.next)"
        }
    }

    /// Whether an answer is a part of a list by its headers: a range of items (RFC 9110, 14), or a header for the next
    /// one.
    private static func isRanged(_ response: HTTPPageResponse) -> Bool {
        if response.header("Next-Range") != nil { return true }
        guard response.status == 206 else { return false }
        return response.header("Content-Range")?.lowercased().hasPrefix("bytes") == false
    }
}
