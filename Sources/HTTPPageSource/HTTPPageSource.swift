public import PageModel
public import PagedRepository
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A paginated JSON API over HTTP. Point it at a URL; how the origin pages is worked out from its first answer and a
/// few questions, unless it is said or was stored: see Documentation/Detection.md.
public final class HTTPPageSource: PageSource {
    // Guarded by the mutex: what is known of the origin, and what was spent on it. Nothing is awaited while it is held.
    struct State {
        var description: SourceDescription?
        /// What is stored and not to be gone by: it tells what was tried in vain.
        var earlier: SourceDescription?
        /// The check of the credential as it is stored.
        var check: String?
        var usage = SourceUsage()
    }

    /// At most so many requests to find out how an origin pages: page one, HEAD, probes and redirects.
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
    /// What led to a later page in the caller's URL, and was left out.
    let places: [Candidate]
    let transport: any HTTPTransport
    let clock: any SyncClock
    let state: Mutex<State>

    /// A URL of a later page (`page=3`, `offset=40`) stands for its list, which begins with page one; with `paging`
    /// said to be `none` it is asked as it is.
    /// - Parameters:
    ///   - configuration: the URL, and whatever shall not be detected.
    ///   - stored: what an earlier `SourceLesson` said; ignored when the configuration says otherwise. Default: nil,
    ///     nothing.
    ///   - transport: what sends requests; it is not closed here.
    ///   - clock: the time by which dates of the origin are understood. Default: the wall clock.
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
            let credentials = Data((userInfo.percentDecoded ?? userInfo).utf8).base64EncodedString()
            configuration.headers.append(HTTPField("Authorization", "Basic \(credentials)"))
            url.userInfo = nil
        }
        secrets = url.parameters.filter { ParameterNames.isSecret($0) }
        url.removeParameters { ParameterNames.isSecret($0) }
        places = url.removePlace(configuration)
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
        let known = stored.flatMap { SourceDescription(json: $0) }
        state = Mutex(State(check: known?.credential))
        if let known { takeUp(known) }
    }

    /// What is known about how the origin pages, in one line; nil before its first answer.
    public var summary: String? { state.withLock { $0.description?.summary } }

    public var usage: SourceUsage { state.withLock { $0.usage } }

    public var access: PagingAccess {
        guard let description = state.withLock({ $0.description }) else { return .chain }
        return switch description.style {
        case .offset: .offsets
        case .page: .grid(size: max(description.gridSize ?? 1, 1))
        case .cursor, .keyset, .link, .nextURL: .chain
        case .none: .single
        }
    }

    /// A few items where the origin is known to take a size; whole pages where that was never tried.
    public var probeSize: Int? {
        guard let known = state.withLock({ $0.description }), known.style == .offset, known.limitParameter != nil,
            known.ignoresSize != true
        else { return nil }
        return 4
    }

    /// R21: where any offset can be asked for, as many as the options say; elsewhere pages lie on a grid, or hand over
    /// to each other, and nothing is asked for twice.
    public var largestOverlap: Int? {
        switch state.withLock({ $0.description?.style }) {
        case .offset, nil: nil
        case .page, .cursor, .keyset, .link, .nextURL, .some(.none): 0
        }
    }

    /// Asks the origin for one page, with what is known of how it pages; page one also teaches that, with eight
    /// requests at most.
    /// - Throws: `FetchFailure` as R27 has it: `hostile` past a limit (R43), `forbidden` for a list of another
    ///   credential (R45), `undecodable` where there are no items; `CancellationError`.
    public func fetch(_ request: PageRequest) async throws -> PageAnswer {
        var lesson: SourceLesson?
        if request.target != .first, state.withLock({ $0.description }) == nil {
            // A page from the middle does not show how its list pages: page one is asked for first.
            if case .page(let first) = try await fetch(PageRequest(.first, size: request.size)) {
                lesson = first.lesson
            }
            guard state.withLock({ $0.description }) != nil else {
                throw FetchFailure(.undecodable, "page one does not show how its list goes on", isRetryable: false)
            }
        }
        var answer = try await hidingSecrets { try await self.answer(request) }
        if let lesson, case .page(var page) = answer {
            page.lesson = page.lesson ?? lesson
            answer = .page(page)
        }
        return answer
    }

    private func answer(_ request: PageRequest) async throws -> PageAnswer {
        var url = try pageURL(for: request)
        let description = state.withLock { $0.description }
        var conditions: [HTTPField] = []
        // R1: a validator goes with the request that it answered, and with no other. Nor is it sent before it is known
        // how to read what comes, or while HEAD is to be asked again: a "not modified" would teach nothing, and keep
        // nothing of what HEAD says.
        let isKnown = description != nil && !(description?.awaitsHead ?? false && request.target == .first)
        let sent = request.validator.flatMap { $0.request == url.text && isKnown ? $0 : nil }
        if let tag = sent?.entityTag { conditions.append(HTTPField("If-None-Match", tag)) }
        if let date = sent?.lastModified { conditions.append(HTTPField("If-Modified-Since", date)) }
        let requestsBefore = usage.requests
        var response = try await send(url, conditions)
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
            return .page(try sealed(FetchedPage(content: PageContent()), response))
        case .pastEnd:
            return .pastEnd
        case .failure(let failure):
            throw failure
        case .notModified:
            var total = totalInHeaders(response, description)
            // R16: a 304 confirms no total that was never part of it.
            if total == .unknown, request.target == .first { total = try await totalByHead(url, description) }
            return .notModified(total: total, validator: sent.flatMap { renewed($0, by: response) })
        }
        let answer = try Answer(response, url: url, secrets: secrets, policy: policy, limits: configuration.limits)
        let isFirst = request.target == .first
        guard let description, description.isProvisional != true || !isFirst else {
            return .page(try sealed(await firstContact(answer, request.size, requestsBefore), response))
        }
        let reader = PageReader(
            answer: answer, description: description, base: firstPage(request.size), isFirst: isFirst,
            limits: configuration.limits)
        var page = try reader.page()
        if isFirst {
            var latest = description
            if page.total == .unknown {
                page.total =
                    description.awaitsHead
                    ? try await totalByHeadAgain(url, &latest, atLeast: page.content.count)
                    : try await totalByHead(url, description)
            }
            adopt(&page, latest, known: description, PageReader.total(of: answer, description).nonsense)
        }
        return .page(try sealed(page, response))
    }

    /// Page one says how long the pages of this origin are now, for these parameters: a grid learned with another size
    /// would put items in wrong places.
    private func adopt(
        _ page: inout FetchedPage, _ latest: SourceDescription, known: SourceDescription, _ nonsense: String?
    ) {
        var description = latest
        let isWhole = page.total.exactCount.map { $0 <= page.content.count } ?? false
        let isOtherGrid =
            description.style == .page && !page.content.isEmpty && !isWhole
            && description.gridSize != page.content.count
        if isOtherGrid { description.gridSize = page.content.count }
        guard description != known || nonsense != nil else { return }
        state.withLock { [description] in $0.description = description }
        page.lesson = SourceLesson(
            paging: description.style.rawValue, source: description.json, warnings: [nonsense].compactMap(\.self))
    }
}
