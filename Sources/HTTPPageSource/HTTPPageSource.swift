import Foundation
public import PageModel
public import PagedRepository
import Synchronization

/// A paginated JSON API over HTTP. Point it at a URL; how the origin pages is worked out from its first answer, unless
/// it is said or was stored.
public final class HTTPPageSource: PageSource {
    // Guarded by the mutex: what is known of the origin, and what was spent on it. Nothing is awaited while it is held.
    struct State {
        var description: SourceDescription?
        /// The check of the credential as it is stored.
        var check: String?
        var usage = SourceUsage()
    }

    /// At most so many requests to find out how an origin pages, the first answer included.
    static let detectionBudget = 8

    let configuration: HTTPSourceConfiguration
    let url: OriginURL
    /// Everything the caller proves itself with, in one text; nil when that is nothing. Never leaves this object.
    let credential: String?
    /// Whether the URL carries a secret: a parameter, or a user and a password. It is used, and not stored; but whoever
    /// can see the caller's command line can see it.
    public let hasSecretInURL: Bool
    /// Parameters of the URL that are secret: taken out of everything stored, put back into everything asked.
    let secrets: [OriginURL.Parameter]
    private let transport: any HTTPTransport
    private let clock: any SyncClock
    let state: Mutex<State>

    /// - Parameter stored: what an earlier `SourceLesson` said; ignored when the configuration says otherwise.
    /// - Throws: `FetchFailure` with class `refused` when the URL is not an absolute http or https URL.
    public init(
        _ configuration: HTTPSourceConfiguration, stored: String? = nil, transport: any HTTPTransport,
        clock: any SyncClock = SystemClock()
    ) throws(FetchFailure) {
        guard var url = OriginURL(configuration.url) else {
            throw FetchFailure(.refused, "not an http or https URL", isRetryable: false)
        }
        var configuration = configuration
        hasSecretInURL = url.userInfo != nil || url.parameters.contains(where: ParameterNames.isSecret)
        if let userInfo = url.userInfo {
            // RFC 7617: what stands before the @ goes into a header, or it would end up in stored URLs.
            let credentials = Data((userInfo.removingPercentEncoding ?? userInfo).utf8).base64EncodedString()
            configuration.headers.append(HTTPField("Authorization", "Basic \(credentials)"))
            url.userInfo = nil
        }
        secrets = url.parameters.filter { ParameterNames.isSecret($0) }
        url.removeParameters { ParameterNames.isSecret($0) }
        self.url = url
        let proofs = configuration.headers.filter { ParameterNames.isCredentialHeader($0.name) }.map { "\($0.name.lowercased()):\($0.value)" }
            + secrets.map { "\($0.name)=\($0.value ?? "")" }
        credential = proofs.isEmpty ? nil : proofs.sorted().joined(separator: "\n")
        self.configuration = configuration
        self.transport = transport
        self.clock = clock
        state = Mutex(
            State(
                description: configuration.saysSomething ? nil : stored.flatMap { SourceDescription(usable: $0) },
                check: stored.flatMap { SourceDescription(json: $0)?.credential }))
    }

    /// What is known about how the origin pages, in one line; nil before its first answer.
    public var summary: String? { state.withLock { $0.description?.summary } }

    public var usage: SourceUsage { state.withLock { $0.usage } }

    public var access: PagingAccess {
        guard let description = state.withLock({ $0.description }) else { return .chain }
        return switch description.style {
        case .offset: .offsets
        case .page: .grid(size: max(description.gridSize ?? 1, 1))
        case .link, .nextURL: .chain
        case .none: .single
        }
    }

    /// A few items where the origin is known to take a size; whole pages where that was never tried.
    public var probeSize: Int? {
        state.withLock { $0.description }.flatMap { $0.style == .offset && $0.limitParameter != nil ? 4 : nil }
    }

    public func fetch(_ request: PageRequest) async throws -> PageAnswer {
        let url = try pageURL(for: request)
        var headers: [HTTPField] = []
        // R1: a validator goes with the request that it answered, and with no other.
        // Nor is it sent before it is known how to read what comes: a "not modified" would teach nothing.
        let isKnown = state.withLock { $0.description != nil }
        if let validator = request.validator, validator.request == url.text, isKnown {
            if let tag = validator.entityTag { headers.append(HTTPField("If-None-Match", tag)) }
            if let date = validator.lastModified { headers.append(HTTPField("If-Modified-Since", date)) }
        }
        let response = try await send(url, headers)
        switch response.status {
        case 304 where !headers.isEmpty:
            return .notModified(total: totalInHeaders(response), validator: nil)
        case 400, 404, 416:
            // R24: beyond the end some origins refuse. Page one is never beyond the end.
            guard case .offset = request.target else { throw failure(response) }
            return .pastEnd
        case 200, 203:
            break
        case 204:
            return .page(FetchedPage(content: PageContent()))
        case 206 where response.header("Content-Range") != nil:
            // Some APIs take a page for a part of the list, and say which (RFC 9110, 14.4).
            break
        default:
            throw failure(response)
        }
        let answer = try Answer(response, url: url, secrets: secrets, limits: configuration.limits)
        guard let description = state.withLock({ $0.description }) else {
            return .page(try await firstContact(answer))
        }
        var page = try PageReader.page(from: answer, description, isFirst: request.target == .first, limits: configuration.limits)
        if request.target == .first { adopt(&page, description) }
        return .page(page)
    }

    /// Page one says how long the pages of this origin are now, for these parameters: a grid learned with another size
    /// would put items in wrong places.
    private func adopt(_ page: inout FetchedPage, _ description: SourceDescription) {
        let isWhole = page.total.exactCount.map { $0 <= page.content.count } ?? false
        guard description.style == .page, !page.content.isEmpty, !isWhole, description.gridSize != page.content.count else { return }
        var description = description
        description.gridSize = page.content.count
        state.withLock { [description] in $0.description = description }
        page.lesson = SourceLesson(paging: description.style.rawValue, source: description.json)
    }

    // MARK: Asking

    /// The URL of a page, without secrets.
    private func pageURL(for request: PageRequest) throws(FetchFailure) -> OriginURL {
        let description = state.withLock { $0.description }
        var url = self.url
        switch request.target {
        case .first:
            break
        case .offset(let offset):
            switch description?.style {
            case .offset: url.set(description?.offsetParameter ?? "offset", String(offset))
            case .page:
                let number = offset / max(description?.gridSize ?? 1, 1) + (description?.firstPage ?? 1)
                url.set(description?.pageParameter ?? "page", String(number))
            case .link, .nextURL, .some(.none), nil:
                throw FetchFailure(.refused, "this origin cannot be asked for an offset", isRetryable: false)
            }
        case .cursor(let cursor):
            guard let next = OriginURL(cursor.text), next.hasSameOrigin(as: url) else {
                throw FetchFailure(.refused, "the stored next link is of another origin", isRetryable: false)
            }
            return next
        }
        if let size = request.size {
            let usual = configuration.paging == .page || description?.style == .page ? "per_page" : "limit"
            url.set(description?.limitParameter ?? configuration.limitParameter ?? usual, String(size))
        }
        return url
    }

    /// Sends one request, and follows redirects that stay at the origin (R45).
    func send(_ url: OriginURL, _ extra: [HTTPField]) async throws -> HTTPPageResponse {
        var target = url
        for _ in 0...configuration.limits.redirects {
            var asked = target
            asked.parameters += secrets.filter { secret in !asked.parameters.contains { $0.name == secret.name } }
            var headers = [HTTPField("Accept", "application/json"), HTTPField("User-Agent", "pagecache")]
            for field in configuration.headers + extra {
                headers.removeAll { $0.name.lowercased() == field.name.lowercased() }
                headers.append(field)
            }
            state.withLock { $0.usage.requests += 1 }
            let response = try await transport.send(HTTPPageRequest(url: asked.text, headers: headers))
            state.withLock { $0.usage.bytesReceived += response.body.count }
            guard [301, 302, 303, 307, 308].contains(response.status), let location = response.header("Location") else {
                return response
            }
            guard let next = target.resolving(location),
                next.hasSameOrigin(as: target) || (next.host == target.host && target.scheme == "http" && next.scheme == "https")
            else {
                throw FetchFailure(.hostile, "the origin redirects to another origin", isRetryable: false, httpStatus: response.status)
            }
            target = next
        }
        throw FetchFailure(.hostile, "more than \(configuration.limits.redirects) redirects", isRetryable: false)
    }

    private func totalInHeaders(_ response: HTTPPageResponse) -> Total {
        guard case .header(let name) = state.withLock({ $0.description?.total }),
            let text = response.header(name).flatMap({ $0.split(separator: "/").last }).flatMap({ JSONText.wholeNumber(String($0)) })
        else { return .unknown }
        return Total(claimed: text)
    }

    private func failure(_ response: HTTPPageResponse) -> FetchFailure {
        let now = response.header("Date").flatMap { HTTPDate.parse($0) } ?? clock.now()
        return .status(response.status, retryAfter: response.header("Retry-After").flatMap { RetryAfter.pause($0, now: now) })
    }
}
