public import PageModel
import PagedRepository
import Synchronization

// The identity of the list, and the credential that it belongs to (R45).
extension HTTPSource {
    /// The key of the list at `url` (R45): its canonical text without paging parameters and secrets. Returns nil when
    /// `url` cannot be used (`refusal(of:)`).
    /// - Parameters:
    ///   - url: the URL of page one, or of a later page.
    ///   - parameters: further names of paging parameters. Defaults to none; the usual names are always removed.
    ///   - scope: the owner of the list. Defaults to the empty scope: one list for all callers.
    public static func key(for url: String, parameters: [String] = [], scope: String = "") -> QueryKey? {
        OriginURL(url).map { QueryKey($0.canonicalText(without: Set(parameters)), scope: scope) }
    }

    /// The key of the list that a configuration requests (R45). With POST, the key also contains the body as canonical
    /// JSON, without secrets and without the members for the position and the size of a page. A digest replaces a body
    /// of more than 1 KiB. Returns nil when the URL or the body cannot be used.
    public static func key(for configuration: HTTPSourceConfiguration, scope: String = "") -> QueryKey? {
        guard let url = OriginURL(configuration.url) else { return nil }
        let text = url.canonicalText(without: Set(configuration.pagingParameters))
        guard configuration.method == .post else { return QueryKey(text, scope: scope) }
        guard let body = try? RequestBody(configuration.body ?? Array("{}".utf8), limits: configuration.limits) else {
            return nil
        }
        let places = [
            configuration.cursorIn, configuration.limitParameter.flatMap { JSONPointer($0) },
        ].compactMap(\.self)
        return QueryKey("POST \(text) \(body.canonicalText(without: places))", scope: scope)
    }

    /// Adds the settings with which a list was stored to a configuration that does not name them. These are the style,
    /// the places and the parameters, and the method and the body of a list that is requested with POST (R47). The body
    /// stays nil if it was not stored, because it contains a secret. With `detectsAnew`, or when the list has another
    /// URL, only the method and the body are added. A configuration that names its method receives the body only if
    /// that method is POST and the list has its URL. Changes nothing when `source` contains no paging profile of
    /// `HTTPSource`.
    public static func restoreRequest(inStored source: String, into configuration: inout HTTPSourceConfiguration) {
        guard let known = PagingProfile(json: source) else { return }
        let isBound = isBound(
            url: configuration.url, parameters: configuration.pagingParameters, stored: source)
        if let said = known.said, !configuration.detectsAnew, isBound { configuration.keep(saying: said) }
        guard known.method == .post else { return }
        if configuration.hasOwnMethod {
            // Another URL that is requested with POST has no body unless the caller gives one.
            guard configuration.method == .post, isBound else { return }
        }
        configuration.method = .post
        configuration.body = configuration.body ?? known.body.map { Array($0.utf8) }
    }

    /// The reason why a URL cannot be used, as a message. Returns nil when a source can be made for the URL.
    public static func refusal(of url: String) -> String? {
        OriginURL(url) == nil ? OriginURL.refusal(of: url) ?? "not an http or https URL" : nil
    }

    /// The URL in a stored paging profile. Returns nil when the text contains no profile of `HTTPSource`.
    public static func url(inStored source: String) -> String? {
        PagingProfile(json: source)?.url
    }

    /// Returns whether the stored list and this source have different credentials, or only one of them has a
    /// credential. A list that was fetched with one credential is not served to another one (R45). Returns false when
    /// the stored text contains no paging profile of `HTTPSource`.
    public func belongsToAnother(stored source: String) -> Bool {
        guard let known = PagingProfile(json: source) else { return false }
        guard let text = known.credential else { return credential != nil }
        guard let check = CredentialCheck(text), let credential else { return true }
        return !check.matches(credential)
    }

    /// Accepts a stored list, unless it belongs to another credential or to another request. Under the key of its URL,
    /// a list belongs to one credential (R45). Under a key or scope of the caller's choice, the caller decides the
    /// ownership, and the credentials are not compared.
    /// - Throws: `FetchFailure` with class `forbidden` when the list and this source have different credentials, or
    ///   only one of them has a credential. Also when a repair has lost the check of the credential, unless
    ///   `HTTPSourceConfiguration.rebinds` gives the list to this caller. Also when the body of the list's POST
    ///   requests was not stored, and the configuration has none. With class `rejected` when the list was fetched with
    ///   another URL, method or body (R47), unless `rebinds` is set.
    public func authorize(_ list: QueryRecord) throws(FetchFailure) {
        let isNamed = list.key != HTTPSource.key(for: configuration)
        guard isNamed || !belongsToAnother(stored: list.source) else {
            throw FetchFailure(
                .forbidden, "the list was fetched with a different credential, or without one", isRetryable: false)
        }
        guard isNamed || configuration.rebinds || !list.isDescriptionLost else {
            throw FetchFailure(
                .forbidden,
                "a repair removed the credential's check from the list; "
                    + "\(HTTPSourceConfiguration.Setting.rebinds) gives the list to this caller",
                isRetryable: false)
        }
        guard let known = PagingProfile(json: list.source) else { return }
        // An empty body would request another list.
        guard known.method != .post || body == nil || known.body != nil || configuration.body != nil else {
            throw FetchFailure(
                .forbidden,
                "the body of the list's requests holds a secret, so it was not stored; "
                    + "\(HTTPSourceConfiguration.Setting.body) is needed again",
                isRetryable: false)
        }
        guard configuration.rebinds || isBound(stored: list.source) else {
            let owner = hasRequest(of: known) ? OriginURL.place(of: known.url) : "a request with another method or body"
            throw FetchFailure(
                .rejected,
                "the list belongs to \(owner); \(HTTPSourceConfiguration.Setting.rebinds) binds it to this request",
                isRetryable: false)
        }
    }

    /// Restores the stored paging profile of a list, its end, and the salted check of its credential. Does nothing when
    /// the record has no profile of `HTTPSource`.
    public func restore(from list: QueryRecord) {
        guard let known = PagingProfile(json: list.source) else { return }
        state.withLock { state in
            state.check = known.credential ?? state.check
            state.heldEnd = list.end
            state.isFirstOffsetOpen =
                list.end == nil && known.style == .offset && known.firstOffset == nil
                && configuration.offsetParameter == nil
                && known.offsetParameter.map { ParameterNames.countedFromOne.contains($0) } ?? false
        }
        use(known)
    }

    /// Returns whether a stored list was fetched from the URL of this source, and with its method and its body, paging
    /// and secrets aside (R47). Also returns true when the stored text contains no paging profile of `HTTPSource`.
    public func isBound(stored source: String) -> Bool {
        HTTPSource.isBound(url, configuration.pagingParameters, stored: source)
            && PagingProfile(json: source).map(hasRequest) ?? true
    }

    /// Whether the requests of a stored list have the method and the body of this source, paging and secrets aside.
    private func hasRequest(of known: PagingProfile) -> Bool {
        guard (known.method == .post) == (configuration.method == .post) else { return false }
        // `authorize` throws if neither body is known.
        guard let body, known.body != nil || configuration.body != nil else { return true }
        let places = pagingPlaces(of: known)
        let other = known.body.flatMap { try? RequestBody(Array($0.utf8), limits: configuration.limits) }
        guard let text = other?.canonicalText(without: places) ?? known.bodyText else { return true }
        return body.canonicalText(without: places) == text
    }

    /// The places in the body for the position or cursor, and for the size of a page.
    func pagingPlaces(of description: PagingProfile) -> [JSONPointer] {
        let names = [
            description.limitParameter, description.offsetParameter, description.pageParameter,
            description.cursorParameter, configuration.limitParameter, configuration.cursorIn?.description,
        ]
        return names.compactMap { $0.flatMap { JSONPointer($0) } }
    }

    /// Returns whether a stored list was fetched from `url`, paging and secrets aside (R47). Returns false when `url`
    /// cannot be used (`refusal(of:)`). Returns true when the stored text contains no paging profile of `HTTPSource`.
    /// - Parameters:
    ///   - url: the URL to compare.
    ///   - parameters: further names of paging parameters. Defaults to none; the usual names never count.
    ///   - source: the stored `source` of the list.
    public static func isBound(url: String, parameters: [String] = [], stored source: String) -> Bool {
        OriginURL(url).map { isBound($0, parameters, stored: source) } ?? false
    }

    private static func isBound(_ url: OriginURL, _ parameters: [String], stored source: String) -> Bool {
        guard let known = PagingProfile(json: source), let other = OriginURL(known.url) else { return true }
        let own = [
            known.limitParameter, known.offsetParameter, known.pageParameter, known.cursorParameter,
        ]
        let names = Set(parameters + own.compactMap(\.self))
        return other.canonicalText(without: names) == url.canonicalText(without: names)
    }

    /// Uses a stored paging profile of this request. A provisional profile becomes `earlier` only. A profile that the
    /// settings contradict, or that `detectsAnew` replaces, becomes `contradicted`.
    func use(_ known: PagingProfile) {
        guard isBound(stored: known.json) else { return }
        guard known.fits(configuration.saying), !configuration.detectsAnew else {
            return state.withLock { $0.contradicted = $0.contradicted ?? known }
        }
        state.withLock { state in
            if known.isProvisional == true {
                state.earlier = state.earlier ?? known
            } else {
                state.description = state.description ?? known
            }
        }
    }

    /// The check of the credential to store. `nil` without a credential. The salt stays the same while the credential
    /// does, so an unchanged list is not written again (R6).
    var check: String? {
        guard let credential else { return nil }
        if let known = state.withLock({ $0.check }), CredentialCheck(known)?.matches(credential) == true {
            return known
        }
        return CredentialCheck(of: credential).text
    }
}
