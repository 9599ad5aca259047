import PageModel
import PagedRepository
import Synchronization

// Which URL a page has, and how it is asked for.
extension HTTPPageSource {
    /// The URL of a page, without secrets.
    func pageURL(for request: PageRequest) throws(FetchFailure) -> OriginURL {
        let description = state.withLock { $0.description }
        switch request.target {
        case .first:
            return firstPage(request.size)
        case .offset(let offset):
            var url = self.url
            switch description?.style {
            case .offset:
                url.set(description?.offsetParameter ?? "offset", String(offset + (description?.firstOffset ?? 0)))
                url = sized(url, request.size, description)
            case .page:
                let grid = max(description?.gridSize ?? 1, 1)
                url.set(description?.pageParameter ?? "page", String(offset / grid + (description?.firstPage ?? 1)))
                url = sized(url, request.size, description)
                // Positions are counted on page one's grid: another size would put items in wrong places.
                if request.size != nil, description?.ignoresSize != true, let name = description?.limitParameter {
                    url.set(name, String(grid))
                }
            case .cursor, .keyset, .link, .nextURL, .some(.none), nil:
                throw FetchFailure(.refused, "this origin cannot be asked for an offset", isRetryable: false)
            }
            return url
        case .cursor(let cursor):
            guard let next = OriginURL(cursor.text), policy.admits(next) else {
                throw FetchFailure(.refused, "the stored next link is of another origin", isRetryable: false)
            }
            return next
        }
    }

    /// Page one, of this size.
    func firstPage(_ size: Int?) -> OriginURL { sized(url, size, state.withLock { $0.description }) }

    /// A URL with a size; not a larger one than the origin says it gives, and none where it refuses to be asked for
    /// one.
    func sized(_ url: OriginURL, _ size: Int?, _ description: SourceDescription?) -> OriginURL {
        guard let size, description?.limitParameter != nil || description?.ignoresSize != true else { return url }
        var url = url
        let usual = configuration.paging == .page ? "per_page" : "limit"
        url.set(
            description?.limitParameter ?? configuration.limitParameter ?? ParameterNames.size(in: url) ?? usual,
            String(min(size, description?.largestSize ?? size)))
        return url
    }

    /// Whether page one was refused for the name that the size was guessed to have: some origins refuse what they do
    /// not know.
    func isSizeRefused(_ response: HTTPPageResponse, _ request: PageRequest, _ description: SourceDescription?) -> Bool
    {
        description == nil && request.target == .first && request.size != nil && configuration.limitParameter == nil
            && [400, 422].contains(response.status)
    }

    /// Page one without a size, where it came empty with one and does not without: under the name that the size was
    /// guessed to have some origins filter (Kinto, json-server). Nil where it is empty all the same, and where no name
    /// was guessed.
    func unfiltered(
        _ response: HTTPPageResponse, _ request: PageRequest, _ description: SourceDescription?
    ) async throws -> HTTPPageResponse? {
        guard description == nil, request.target == .first, request.size != nil, configuration.limitParameter == nil,
            ParameterNames.size(in: url) == nil, response.status == 200,
            count(response, of: firstPage(request.size)) == 0
        else { return nil }
        let whole = try await send(url, [])
        return whole.status == 200 && count(whole, of: url) ?? 0 > 0 ? whole : nil
    }

    /// How many items came; nil where that cannot be read.
    private func count(_ response: HTTPPageResponse, of url: OriginURL) -> Int? {
        let answer = try? Answer(response, url: url, secrets: secrets, policy: policy, limits: configuration.limits)
        return answer.flatMap { try? Detector.describe($0, configuration) }?.evidence.count
    }

    /// Sends one request, and follows redirects where they may lead (R45).
    /// - Parameters:
    ///   - conditions: sent along wherever it leads: they are no secrets, and of the answer at its end.
    ///   - most: requests that may be spent on it, redirects included; nil leaves it to the limits.
    func send(
        _ url: OriginURL, _ conditions: [HTTPField], method: String = "GET", most: Int? = nil
    ) async throws -> HTTPPageResponse {
        let redirects = max(min(configuration.limits.redirects, most.map { $0 - 1 } ?? .max), 0)
        var target = url
        var asked: Set<OriginURL> = []
        for _ in 0...redirects {
            guard asked.insert(target).inserted else {
                throw FetchFailure(.hostile, "the origin redirects in a circle", isRetryable: false)
            }
            state.withLock { $0.usage.requests += 1 }
            var response = try await transport.send(self.request(for: target, conditions, method: method))
            state.withLock { $0.usage.bytesReceived += response.body.count }
            guard [301, 302, 303, 307, 308].contains(response.status), response.header("Location") != nil else {
                response.redirectedTo = target == url ? nil : target
                return response
            }
            target = try destination(of: response, from: target)
        }
        throw FetchFailure(.hostile, "more than \(redirects) redirects", isRetryable: false)
    }
}
