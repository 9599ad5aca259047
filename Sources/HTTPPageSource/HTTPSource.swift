public import PageModel
public import PagedRepository
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A source for paginated JSON APIs over HTTP. It detects how the origin pages from the first answer and a few probes.
/// Settings of the configuration and a stored paging profile take the place of detection: see
/// Documentation/Detection.md.
public final class HTTPSource: PageSource, PromptSource {
    /// The largest number of requests that detection sends: page one, HEAD, probes and redirects. Repeats
    /// (`mostRepeats`) are additional.
    static let detectionBudget = 8
    /// The largest number of requests that a first contact repeats without counting them, after a temporary fault or a
    /// change of the list.
    static let mostRepeats = 3

    let configuration: HTTPSourceConfiguration
    let url: OriginURL
    /// All secrets of the caller in one text. `nil` means the caller has none. The text never leaves this object.
    let credential: String?
    /// Whether the URL carries a secret: a parameter, or a user and a password. The source sends the secret and never
    /// stores it. A secret in an argument of a command is still visible to other processes.
    public let hasSecretInURL: Bool
    /// Secret parameters of the URL. They are removed from all stored data, and added to every request to the list's
    /// origin.
    let secrets: [OriginURL.Parameter]
    /// Parameters of the caller's URL that led to a later page, and were removed.
    let places: [Candidate]
    /// The body of POST requests. `nil` with GET.
    let body: RequestBody?
    let transport: any HTTPTransport
    let clock: any SyncClock
    let state: Mutex<State>

    /// Makes a source for one list. A URL of a later page (`page=3`, `offset=40`) stands for the whole list, which
    /// starts with page one. With `paging` set to `none`, the URL is requested unchanged.
    /// - Parameters:
    ///   - configuration: the URL, and all settings that detection must not decide.
    ///   - stored: the `source` of an earlier `DetectedPaging`. Ignored when the configuration contradicts it. Defaults
    ///     to nil: no stored profile.
    ///   - transport: the sender of requests. The source does not close it.
    ///   - clock: the clock for the dates of answers, for pauses and for the ages of kept answers. Defaults to the wall
    ///     clock.
    /// - Throws: `FetchFailure` with class `rejected` when the URL cannot be used (`refusal(of:)`), and when the body
    ///   of POST requests is not a JSON object.
    public init(
        _ configuration: HTTPSourceConfiguration, stored: String? = nil, transport: any HTTPTransport,
        clock: any SyncClock = SystemClock()
    ) throws(FetchFailure) {
        guard var url = OriginURL(configuration.url) else {
            let reason = OriginURL.refusal(of: configuration.url) ?? "not an http or https URL"
            throw FetchFailure(.rejected, reason, isRetryable: false)
        }
        var configuration = configuration
        hasSecretInURL = url.userInfo != nil || url.parameters.contains(where: ParameterNames.isSecret)
        if let userInfo = url.userInfo {
            // User and password move into a header (RFC 7617). Left in the URL, they would be stored.
            let credentials = Data((userInfo.percentDecoded ?? userInfo).utf8).base64EncodedString()
            configuration.headers.append(HTTPField("Authorization", "Basic \(credentials)"))
            url.userInfo = nil
        }
        secrets = url.parameters.filter { ParameterNames.isSecret($0) }
        url.removeParameters { ParameterNames.isSecret($0) }
        body =
            configuration.method == .post
            ? try RequestBody(configuration.body ?? Array("{}".utf8), limits: configuration.limits) : nil
        if body != nil, let place = configuration.cursorIn?.description {
            switch configuration.paging {
            case .offset: configuration.offsetParameter = place
            case .page: configuration.pageParameter = place
            case .auto, .cursor, .keyset, .link, .nextURL, .none: configuration.cursorParameter = place
            }
        }
        places = body == nil ? url.removePlace(configuration) : []
        self.url = url
        let proofs =
            configuration.headers.filter { configuration.isCredential($0.name) }.map {
                "\($0.name.lowercased()):\($0.value)"
            }
            + secrets.map { "\($0.name)=\($0.value ?? "")" }
        credential = proofs.isEmpty ? nil : proofs.sorted().joined(separator: "\n")
        self.configuration = configuration
        self.transport = transport
        self.clock = clock
        let known = stored.flatMap { PagingProfile(json: $0) }
        state = Mutex(State(check: known?.credential))
        if let known { use(known) }
    }

    /// The paging of the origin, in one line. `nil` before the first answer, unless a stored paging profile was
    /// restored.
    public var summary: String? { state.withLock { $0.description?.summary } }

    public var usage: SourceUsage { state.withLock { $0.usage } }

    /// The time limit of one `fetch`: thirteen times `HTTPLimits.requestTimeout`, which counts as 24 hours at most.
    /// After this time, the caller abandons a transport that never answers.
    public var timeLimit: Duration? {
        min(configuration.limits.requestTimeout, .seconds(86_400))
            * (HTTPSource.detectionBudget + HTTPSource.mostRepeats + 2)
    }

    package var returnsPromptly: Bool {
        #if HTTP
        transport is AsyncHTTPTransport
        #else
        false
        #endif
    }

    public var access: PagingAccess {
        guard let description = state.withLock({ $0.description }) else { return .chain }
        return switch description.style {
        case .offset: description.gridSize.map { .grid(size: max($0, 1)) } ?? .offsets
        case .page: .grid(size: max(description.gridSize ?? 1, 1))
        case .cursor, .keyset, .link, .nextURL: .chain
        case .none: .single
        }
    }

    /// The size of a probe: 4 items if any offset can be requested and the origin is known to accept a size. `nil`
    /// otherwise: a probe then fetches a whole page.
    public var probeSize: Int? {
        guard let known = state.withLock({ $0.description }), known.style == .offset, known.limitParameter != nil,
            known.ignoresSize != true, known.gridSize == nil
        else { return nil }
        return 4
    }

    /// The largest overlap of two pages, in items (R21). 0 for a list by page number, for a chain, for a list of one
    /// page, and for offsets that must be multiples of the page size. `nil` where any offset can be requested, and
    /// before detection: `SyncOptions.overlap` then decides.
    public var largestOverlap: Int? {
        let description = state.withLock { $0.description }
        return switch description?.style {
        case .offset: description?.gridSize == nil ? nil : 0
        case nil: nil
        case .page, .cursor, .keyset, .link, .nextURL, .some(.none): 0
        }
    }

    /// Fetches one page. The first fetch of page one also detects how the origin pages, with eight requests at most,
    /// and up to three more after faults or a change of the list. While the paging is not known, a fetch of any other
    /// page fetches page one first.
    /// - Throws: `FetchFailure`, whose class names the cause (R27). `limitExceeded` means the answer passed a limit
    ///   (R43), or leads to an origin that is not allowed (R45). `forbidden` means the origin refused the caller.
    ///   `undecodable` means the answer is not JSON, or has no array of items at the expected place. Throws
    ///   `CancellationError` when the task is cancelled.
    public func fetch(_ request: PageRequest) async throws -> PageAnswer {
        var detectedPaging: DetectedPaging?
        if request.target != .first, state.withLock({ $0.description }) == nil {
            // A page from the middle does not show how its list pages. Page one is fetched first.
            if case .page(let first) = try await fetch(PageRequest(.first, size: request.size)) {
                detectedPaging = first.detectedPaging
            }
            guard state.withLock({ $0.description }) != nil else {
                throw FetchFailure(.undecodable, "page one does not show how the list is paged", isRetryable: false)
            }
        }
        var answer: PageAnswer
        do {
            answer = try await hidingSecrets { try await self.answer(request) }
        } catch let failure as FetchFailure where failure.failureClass == .undecodable {
            // An error status is counted as a failure already.
            if failure.httpStatus ?? 200 < 400 { state.withLock { $0.usage.unusable += 1 } }
            throw failure
        }
        if let detectedPaging, case .page(var page) = answer {
            page.detectedPaging = page.detectedPaging ?? detectedPaging
            answer = .page(page)
        }
        return answer
    }

    private func answer(_ request: PageRequest) async throws -> PageAnswer {
        var url = try pageURL(for: request)
        let description = state.withLock { $0.description }
        var conditions: [HTTPField] = []
        // A validator is sent only with the request that it belongs to (R1). It is not sent before the layout of the
        // answer is known, because a 304 has no items to examine. It is not sent while HEAD has to be repeated, because
        // the total of HEAD would be lost.
        let isKnown =
            description != nil && body == nil && !(description?.awaitsHead ?? false && request.target == .first)
        let sent = request.validator.flatMap { $0.request == url.text && isKnown ? $0 : nil }
        if let tag = sent?.entityTag { conditions.append(HTTPField("If-None-Match", tag)) }
        if let date = sent?.lastModified { conditions.append(HTTPField("If-Modified-Since", date)) }
        let requestsBefore = usage.requests
        let ready = takeReady(url, request)
        var response: HTTPPageResponse
        if let ready { response = ready } else { response = try await send(url, conditions) }
        if isSizeRefused(response, request, description) {
            url = self.url
            response = try await send(url, conditions)
        } else if let whole = try await unfiltered(response, request, description) {
            url = self.url
            response = whole
        }
        let isBeyondFirst = if case .offset = request.target { true } else { false }
        switch AnswerStatus(
            response, isConditional: !conditions.isEmpty, isBeyondFirst: isBeyondFirst, now: clock.now())
        {
        case .page:
            break
        case .empty:
            if request.target != .first { try rejectEndOfPart() }
            return .page(try sealed(FetchedPage(content: PageContent()), response))
        case .pastEnd:
            try rejectEndOfPart()
            observe(request, hasItems: false)
            if response.status == 400, state.withLock({ $0.isLowerBound }) {
                // The list has more items than its total. The refusal is the end of a result window, and not the end of
                // the list.
                throw FetchFailure(
                    .rejected,
                    "the origin refused this position (400), although its total, a lower bound, is not reached",
                    isRetryable: false,
                    httpStatus: 400)
            }
            return .pastEnd
        case .notFound:
            return .notFound
        case .failure(let failure):
            throw failure
        case .notModified:
            var total = totalInHeaders(response, description)
            // A 304 does not confirm a total that was never part of the answer (R16).
            if total == .unknown, request.target == .first { total = try await totalByHead(url, description) }
            return .notModified(total: total, validator: sent.flatMap { renewed($0, by: response) })
        }
        let answer = try Answer(response, url: url, secrets: secrets, policy: policy, limits: configuration.limits)
        let isFirst = request.target == .first
        try confirmEncoding(response, isFirst: isFirst)
        if isFirst {
            let fields = response.headers.filter { EnvelopeMember.plain($0.name).contains("ratelimit") }
            state.withLock { $0.rateLimits = fields }
        }
        let isChainLost = try await isFirst ? hasLostNext(answer, description) : false
        guard let description, !isFirst || description.isProvisional != true && !isChainLost else {
            return .page(try sealed(await firstContact(answer, request.size, requestsBefore), response))
        }
        let reader = PageReader(
            answer: answer, description: description, base: firstPage(request.size), isFirst: isFirst,
            limits: configuration.limits, mayLackItems: true)
        var page = try reader.page()
        if !isFirst {
            if reader.isPart { state.withLock { $0.isPart = true } }
            if page.content.isEmpty { try rejectEndOfPart() } else { observe(request, hasItems: true) }
        }
        if isFirst {
            state.withLock { $0.multiples.pageSize = page.content.count }
            note(answer, description)
            var latest = description
            latest.encoding = BodyCharset.shown(by: response) ?? description.encoding
            if page.total == .unknown {
                page.total =
                    description.awaitsHead
                    ? try await totalByHeadAgain(url, &latest, atLeast: page.content.count)
                    : try await totalByHead(url, description)
            }
            try await confirmFirstOffset(&latest, page, url)
            adopt(&page, latest, known: description, PageReader.total(of: answer, description).nonsense)
        }
        page.detectedPaging = page.detectedPaging ?? takeChangedProfile()
        try await removeEndlessLink(&page, answer, isFirst: isFirst)
        return .page(try sealed(page, response))
    }
}
