import PageModel
import PagedRepository
import Synchronization

// The URL of each page, and the request for it.
extension HTTPSource {
    /// The URL of a page, without secrets.
    /// - Throws: `FetchFailure` with class `rejected` for an offset at an origin that accepts none, and for a stored
    ///   next link to an origin that the policy does not admit.
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
                if request.size != nil, description?.ignoresSize != true, let grid = description?.gridSize,
                    let name = description?.limitParameter
                {
                    url.set(name, String(grid))
                }
            case .page:
                let grid = max(description?.gridSize ?? 1, 1)
                url.set(description?.pageParameter ?? "page", String(offset / grid + (description?.firstPage ?? 1)))
                url = sized(url, request.size, description)
                // Positions are counted on the grid of page one. Another page size would put items at wrong positions.
                if request.size != nil, description?.ignoresSize != true, let name = description?.limitParameter {
                    url.set(name, String(grid))
                }
            case .cursor, .keyset, .link, .nextURL, .some(.none), nil:
                throw FetchFailure(.rejected, "this origin accepts no offset", isRetryable: false)
            }
            return url
        case .cursor(let cursor):
            guard let next = OriginURL(cursor.text), policy.admits(next) else {
                throw FetchFailure(.rejected, "the stored next link is of another origin", isRetryable: false)
            }
            return next
        }
    }

    /// The URL of page one, with this page size.
    func firstPage(_ size: Int?) -> OriginURL { sized(url, size, state.withLock { $0.description }) }

    /// Adds a page size to a URL. The size is capped at the largest one that the origin states. The URL stays unchanged
    /// without a size, and when the origin is known to ignore sizes and no parameter for them is known. It also stays
    /// unchanged for a POST request, unless `HTTPSourceConfiguration.limitParameter` is set.
    func sized(_ url: OriginURL, _ size: Int?, _ description: PagingProfile?) -> OriginURL {
        guard let size, body == nil || configuration.limitParameter != nil,
            description?.limitParameter != nil || description?.ignoresSize != true
        else { return url }
        var url = url
        let usual = configuration.paging == .page ? "per_page" : "limit"
        url.set(
            description?.limitParameter ?? configuration.limitParameter ?? ParameterNames.size(in: url) ?? usual,
            String(min(size, description?.largestSize ?? size)))
        return url
    }

    /// Returns whether the origin may have refused page one (400 or 422) because of the guessed size parameter. Some
    /// origins refuse unknown parameters.
    func isSizeRefused(_ response: HTTPPageResponse, _ request: PageRequest, _ description: PagingProfile?) -> Bool {
        description == nil && request.target == .first && request.size != nil && configuration.limitParameter == nil
            && [400, 422].contains(response.status)
    }

    /// Fetches page one again without a size when the request with a size returned an empty page. Some origins filter
    /// by the guessed parameter name (Kinto, json-server). Returns nil when the page is empty without the size too, and
    /// when no name was guessed.
    func unfiltered(
        _ response: HTTPPageResponse, _ request: PageRequest, _ description: PagingProfile?
    ) async throws -> HTTPPageResponse? {
        guard description == nil, request.target == .first, request.size != nil, configuration.limitParameter == nil,
            ParameterNames.size(in: url) == nil, response.status == 200,
            count(response, of: firstPage(request.size)) == 0
        else { return nil }
        let whole = try await send(url, [])
        return whole.status == 200 && count(whole, of: url) ?? 0 > 0 ? whole : nil
    }

    /// The number of items in an answer. Returns nil when the items cannot be read.
    private func count(_ response: HTTPPageResponse, of url: OriginURL) -> Int? {
        let answer = try? Answer(response, url: url, secrets: secrets, policy: policy, limits: configuration.limits)
        return answer.flatMap { try? Detector.describe($0, configuration) }?.evidence.count
    }

    /// Returns and removes the answer that a probe received for this page. Returns nil when there is none, and for a
    /// request with a validator. A request for page one discards all kept answers and returns nil, because page one
    /// shows whether the list has changed.
    func takeReady(_ url: OriginURL, _ request: PageRequest) -> HTTPPageResponse? {
        let now = clock.now()
        return state.withLock { state in
            if request.target == .first { state.ready = ReadyAnswers() }
            return request.validator == nil ? state.ready.take(url, now: now) : nil
        }
    }

    /// Sends one request and follows the redirects that the policy admits (R45).
    /// - Parameters:
    ///   - conditions: conditional headers. They go to every target of a redirect: they hold no secrets, and they
    ///     belong to the final answer.
    ///   - most: the largest number of requests to send, redirects included. `nil` leaves only the limit on redirects.
    func send(
        _ url: OriginURL, _ conditions: [HTTPField], method: String = "GET", most: Int? = nil
    ) async throws -> HTTPPageResponse {
        let redirects = max(min(configuration.limits.redirects, most.map { $0 - 1 } ?? .max), 0)
        var target = url
        var asked: Set<OriginURL> = []
        for _ in 0...redirects {
            guard asked.insert(target).inserted else {
                throw FetchFailure(.limitExceeded, "the origin redirects in a circle", isRetryable: false)
            }
            var response = try await answer(to: self.request(for: target, conditions, method: method))
            guard [301, 302, 303, 307, 308].contains(response.status), response.header("Location") != nil else {
                response.redirectedTo = target == url ? nil : target
                return response
            }
            // Another method would not send the body (RFC 9110, 15.4).
            if body != nil, ![307, 308].contains(response.status) {
                throw FetchFailure(
                    .limitExceeded, "the origin redirects a POST request with \(response.status)", isRetryable: false,
                    httpStatus: response.status)
            }
            target = try destination(of: response, from: target)
            state.withLock { $0.usage.redirects += 1 }
        }
        throw FetchFailure(.limitExceeded, "more than \(redirects) redirects", isRetryable: false)
    }

    /// Sends one request, and counts it.
    private func answer(to request: HTTPPageRequest) async throws -> HTTPPageResponse {
        state.withLock { $0.usage.requests += 1 }
        do {
            let response = try await transport.send(request)
            state.withLock { state in
                state.usage.bytesReceived += response.body.count
                if response.status >= 400 { state.usage.failures += 1 }
            }
            return response
        } catch {
            state.withLock { state in
                // The origin did not fail to answer a request that was cancelled.
                if Task.isCancelled { state.usage.cancelled += 1 } else { state.usage.failures += 1 }
            }
            throw error
        }
    }
}
