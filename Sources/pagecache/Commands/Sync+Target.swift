#if Tool
import HTTPPageSource
import PageModel
import PagedRepository

// The list that a target names, and the request that the list is bound to.
extension Sync {
    /// Returns the request and the query key for a target, which is a URL or names a query in the store. Throws
    /// `ToolFailure` when the URL cannot be used, or when no query has this name.
    func resolve(_ target: String, in store: DeferredStore) async throws -> (
        plain: HTTPSourceConfiguration, key: QueryKey
    ) {
        if target.contains("://") {
            let plain = try source.plain(url: target)
            guard let key = HTTPSource.key(for: plain, scope: source.scope ?? "") else {
                let reason = HTTPSource.refusal(of: target).map { "'\(target)' is \($0)" }
                throw ToolFailure(
                    .usage, "usage", reason ?? "the request body for '\(target)' is not a JSON object")
            }
            return (plain, source.key.map { QueryKey($0, scope: source.scope ?? "") } ?? key)
        }
        let query = try QuerySelector.find(
            target, in: try await store.storedQueries(),
            otherwise: "to add a query, give its URL: http://… or https://…")
        guard ListRunner.url(of: query) != nil || !query.isDescriptionLost else {
            throw DamagedRecords.lostDescription(of: query.key)
        }
        return (try source.plain(url: HTTPSource.url(inStored: query.source) ?? query.key.text), query.key)
    }

    /// Prints a note when the URL of this new list belongs to a stored list with a key of its own. Users may forget
    /// `--key` in a later call. An error of the store is ignored here: the run reports it.
    func noteOtherList(_ key: QueryKey, in store: DeferredStore) async {
        let other = try? await store.records().first { record in
            guard let url = HTTPSource.url(inStored: record.source) else { return false }
            return HTTPSource.key(for: url, scope: record.key.scope) == key
        }
        guard let other else { return }
        let name = other.key.text
        Terminal.standard.note(
            "'\(name)' has this URL already, and this is a second copy; 'pagecache sync \(other.key.shortID)' updates '\(name)'"
        )
    }

    /// Refuses another URL under the key of a list, unless `--rebind` allows it (R47).
    func checkBinding(of known: QueryRecord, to url: String) throws {
        let isBound = HTTPSource.isBound(url: url, parameters: source.pagingParameters, stored: known.source)
        guard !rare.rebind, !isBound else { return }
        let other = HTTPSource.url(inStored: known.source) ?? ""
        throw ToolFailure(
            .usage, "other_url", "'\(known.key.text)' is bound to \(other)",
            hint: "use another --key, or --rebind to bind the list to this URL")
    }

    /// Refuses a request with another method or body than that of the list, unless `--rebind` is given (R47). Refuses a
    /// request with another credential, unless `--key` or `--scope` is given (R45).
    func checkOwner(of known: QueryRecord, _ origin: HTTPSource) throws {
        if !rare.rebind, !origin.isBound(stored: known.source) {
            throw ToolFailure(
                .usage, "other_request", "'\(known.key.text)' is bound to a request with another method or body",
                hint: "use another --key, or --rebind to bind the list to this request")
        }
        if source.key == nil, source.scope == nil, origin.belongsToAnother(stored: known.source) {
            let had = known.hasCredential
            throw ToolFailure(
                .permission, "other_credential",
                "the list was fetched \(had ? "with a different credential" : "without a credential")",
                hint:
                    "\(had ? "give its credential with --bearer-env, --header-env, or the URL that contains it" : "fetch it without one"), or choose another list with --scope or --key"
            )
        }
    }
}
#endif
