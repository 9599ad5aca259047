public import PageModel
import PagedRepository
import Synchronization

// The identity of the list, and the credential that it belongs to (R45).
extension HTTPPageSource {
    /// The key of the list at `url` (R45): its canonical text without paging parameters and secrets. Returns nil when
    /// `url` is not an http or https URL.
    /// - Parameters:
    ///   - url: the URL of page one, or of a later page.
    ///   - parameters: further names of paging parameters. Defaults to none; the usual names are always removed.
    ///   - scope: the owner of the list. Defaults to the empty scope: one list for all callers.
    public static func key(for url: String, parameters: [String] = [], scope: String = "") -> QueryKey? {
        OriginURL(url).map { QueryKey($0.canonicalText(without: Set(parameters)), scope: scope) }
    }

    /// The URL in a stored lesson. Returns nil when the text holds no lesson of this source.
    public static func url(inStored source: String) -> String? {
        SourceDescription(json: source)?.url
    }

    /// Returns whether the stored list was fetched with another credential than this source uses. Two accounts must
    /// never share a list by accident (R45). Returns false when `source` holds no lesson of this source.
    public func belongsToAnother(stored source: String) -> Bool {
        guard let known = SourceDescription(json: source) else { return false }
        guard let text = known.credential else { return credential != nil }
        guard let check = CredentialCheck(text), let credential else { return true }
        return !check.matches(credential)
    }

    /// Takes up the stored description of a list, unless the list belongs to another credential. Under the key of its
    /// URL, a list belongs to one credential (R45). Under a key or scope of the caller's choice, the caller decides the
    /// ownership, and the credentials are not compared.
    /// - Throws: `FetchFailure` with class `forbidden` when the list was fetched with another credential, or with none.
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

    /// Uses a stored description, unless the configuration has changed since. A provisional description is kept as
    /// `earlier` only.
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

    /// The check of the credential to store. The salt stays the same while the credential does, so an unchanged list is
    /// not written again (R6).
    var check: String? {
        guard let credential else { return nil }
        if let known = state.withLock({ $0.check }), CredentialCheck(known)?.matches(credential) == true {
            return known
        }
        return CredentialCheck(of: credential).text
    }
}
