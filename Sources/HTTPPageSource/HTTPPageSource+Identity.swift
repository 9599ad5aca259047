public import PageModel
import PagedRepository
import Synchronization

// Which list it is, and whose (R45).
extension HTTPPageSource {
    /// The key of the list at `url` (R45): its canonical text without paging and secrets; nil for what is no URL.
    /// - Parameters:
    ///   - url: where page one is, or a later one.
    ///   - parameters: names of paging parameters that the caller knows of. Default: none; the usual names are known.
    ///   - scope: whose list it is. Default: empty, one list serves everybody.
    public static func key(for url: String, parameters: [String] = [], scope: String = "") -> QueryKey? {
        OriginURL(url).map { QueryKey($0.canonicalText(without: Set(parameters)), scope: scope) }
    }

    /// The URL that a stored lesson asks; nil when there is none.
    public static func url(inStored source: String) -> String? {
        SourceDescription(json: source)?.url
    }

    /// Whether a list was fetched by somebody else than this source asks for (R45): two accounts must never share a
    /// list by accident. False for a list of which nothing is stored.
    public func belongsToAnother(stored source: String) -> Bool {
        guard let known = SourceDescription(json: source) else { return false }
        guard let text = known.credential else { return credential != nil }
        guard let check = CredentialCheck(text), let credential else { return true }
        return !check.matches(credential)
    }

    /// R45: under the key of its URL, a list is that of one credential. Under a key or a scope of the caller's own, the
    /// caller has said whose it is.
    /// - Throws: `FetchFailure` with class `forbidden` for a list that was fetched with another credential, or with
    ///   none.
    public func takeUp(_ list: QueryRecord) throws(FetchFailure) {
        let isNamed = list.key != QueryKey(url.canonicalText(without: Set(configuration.pagingParameters)))
        guard isNamed || !belongsToAnother(stored: list.source) else {
            throw FetchFailure(
                .forbidden, "the list was fetched with another credential, or with none", isRetryable: false)
        }
        guard let known = SourceDescription(json: list.source) else { return }
        state.withLock { $0.check = known.credential ?? $0.check }
        takeUp(known)
    }

    /// What is stored is gone by, unless something else was said then, or too little was seen.
    func takeUp(_ known: SourceDescription) {
        guard known.fits(configuration.saying) else { return }
        state.withLock { state in
            if known.isProvisional == true {
                state.earlier = state.earlier ?? known
            } else {
                state.description = state.description ?? known
            }
        }
    }

    /// What is stored of the credential. The salt stays as long as the credential does: a list that did not change is
    /// not written again (R6).
    var check: String? {
        guard let credential else { return nil }
        if let known = state.withLock({ $0.check }), CredentialCheck(known)?.matches(credential) == true {
            return known
        }
        return CredentialCheck(of: credential).text
    }
}
