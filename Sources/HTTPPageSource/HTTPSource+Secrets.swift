import PageModel
import PagedRepository
import Synchronization

// The secrets that an origin receives, and their removal from stored data and messages (R45).
extension HTTPSource {
    /// The origins that may receive requests. A body with a secret goes to the home origin only.
    var policy: OriginPolicy {
        let allowed = configuration.allowedHosts
        return OriginPolicy(home: url, allowed: allowed.isEmpty || body?.hasSecret != true ? allowed : [])
    }

    var secretWords: SecretWords {
        SecretWords(headers: configuration.headers.filter { configuration.isCredential($0.name) }, parameters: secrets)
    }

    /// The media types of requests (RFC 9110, 12.5.1). Strict origins answer 406 when their own type is missing.
    static let acceptedTypes = "application/json, application/*+json;q=0.9, */*;q=0.1"

    /// The complete request for a URL. The home origin receives everything that was configured. Another allowed origin
    /// receives the conditions, `Accept`, `User-Agent`, and the body of a POST request.
    func request(for target: OriginURL, _ conditions: [HTTPField], method: String) -> HTTPPageRequest {
        var target = target
        var content: [UInt8]?
        if let body { (target, content) = body.request(for: target) }
        let isHome = policy.isHome(target)
        if isHome {
            target.parameters += secrets.filter { secret in !target.parameters.contains { $0.name == secret.name } }
        }
        var headers = [
            HTTPField("Accept", HTTPSource.acceptedTypes), HTTPField("User-Agent", "pagecache"),
        ]
        for field in (isHome ? configuration.headers : []) + conditions {
            headers.removeAll { $0.name.lowercased() == field.name.lowercased() }
            headers.append(field)
        }
        if content != nil, !headers.contains(where: { $0.name.lowercased() == "content-type" }) {
            headers.append(HTTPField("Content-Type", "application/json"))
        }
        return HTTPPageRequest(
            method: content == nil ? method : "POST", url: target.text, headers: headers, body: content)
    }

    /// The target of a redirect, without secrets.
    /// - Throws: `FetchFailure` with class `limitExceeded` when the target is not an http or https URL, when the policy
    ///   refuses it, or when its URL holds a credential and belongs to another origin.
    func destination(of response: HTTPPageResponse, from current: OriginURL) throws(FetchFailure) -> OriginURL {
        func refusal(_ message: String) -> FetchFailure {
            FetchFailure(.limitExceeded, message, isRetryable: false, httpStatus: response.status)
        }
        guard let location = response.values("Location").first?.trimmingSpaces(), var next = current.resolving(location)
        else {
            throw refusal("the origin redirects to a URL that is not http or https")
        }
        // Secrets that the origin echoes are removed here. The request adds them again where they belong.
        next.userInfo = nil
        next.removeParameters { isOwnSecret($0) }
        switch policy.decision(on: next, from: current) {
        case .home:
            return next
        case .elsewhere:
            next.removeParameters { secretWords.isIn($0.value ?? "") }
            guard !secretWords.isIn(next.text) else {
                throw refusal("the origin redirects to another one, with a credential in the URL")
            }
            return next
        case .refused(let why):
            throw refusal(why)
        }
    }

    /// Hides the secrets in the messages of failures. An origin may echo them, and messages go to ledgers, logs and
    /// terminals (R45).
    func hidingSecrets<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch var failure as FetchFailure {
            failure.message = secretWords.hidden(failure.message)
            throw failure
        }
    }

    /// Returns the validator that replaces the sent one after a 304. Returns nil when the sent one stays.
    func renewed(_ sent: Validator, by response: HTTPPageResponse) -> Validator? {
        response.renewed(sent).flatMap { secretWords.isIn($0.entityTag ?? "") ? nil : $0 }
    }

    /// Prepares a page for the store. Removes the caller's secrets wherever the origin echoes them, and applies
    /// `Cache-Control`. Items keep the bytes that the origin sent (R7).
    /// - Throws: `FetchFailure` with class `limitExceeded` when a secret cannot be removed from the paging profile or
    ///   the next link.
    func sealed(_ page: FetchedPage, _ response: HTTPPageResponse) throws(FetchFailure) -> FetchedPage {
        var page = page
        let words = secretWords
        page.next = try page.next.map { cursor throws(FetchFailure) in try sealed(cursor, words) }
        if words.isIn(page.validator?.entityTag ?? "") { page.validator = nil }
        if var detectedPaging = page.detectedPaging {
            guard !words.isIn(detectedPaging.source) else {
                state.withLock { $0.description = nil }
                throw FetchFailure(
                    .limitExceeded, "a member of the answer is named like a credential of the request",
                    isRetryable: false)
            }
            detectedPaging.warnings = detectedPaging.warnings.map { words.hidden($0) }
            page.detectedPaging = detectedPaging
        }
        let control = CacheControl(response.values("Cache-Control"))
        page.freshFor = control.freshFor(age: response.values("Age"))
        page.mayBeStored = !control.isNoStore
        return page
    }

    /// Removes secrets that the origin echoes in next URLs before the cursor is stored (R45). The request adds them
    /// again.
    private func sealed(_ cursor: PageCursor, _ words: SecretWords) throws(FetchFailure) -> PageCursor {
        guard words.isIn(cursor.text) else { return cursor }
        if var next = OriginURL(cursor.text) {
            next.removeParameters { isOwnSecret($0) || words.isIn($0.value ?? "") }
            if !words.isIn(next.text) { return PageCursor(next.text) }
        }
        throw FetchFailure(.limitExceeded, "the next link contains a credential", isRetryable: false)
    }

    private func isOwnSecret(_ parameter: OriginURL.Parameter) -> Bool {
        secrets.contains { $0.plainName == parameter.plainName && $0.plainValue == parameter.plainValue }
    }
}

extension HTTPSourceConfiguration {
    /// Returns whether a header of this name carries a credential.
    func isCredential(_ name: String) -> Bool {
        if ParameterNames.isCredentialHeader(name) { return true }
        if secretHeaders.contains(where: { $0.lowercased() == name.lowercased() }) { return true }
        let plain = name.lowercased().filter { $0 != "_" && $0 != "-" }
        return plain.hasSuffix("key")
            || ["signature", "password", "credential", "jwt", "bearer"].contains { plain.contains($0) }
    }
}
