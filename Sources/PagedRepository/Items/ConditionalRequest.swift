public import PageModel

/// The validator of the page that a closure of an `ItemSource` has to fetch, when the page is already stored.
///
/// ```swift
/// let source = ItemSource.offsets(pageSize: 20) { offset, size in
///     let answer = try await api.events(offset, size, headers: ConditionalRequest.headers)
///     if answer.status == 304 { return ItemPage.notModified() }
///     var page = ItemPage(items: answer.events, total: answer.total)
///     page.entityTag = answer.headers["ETag"]
///     return page
/// }
/// ```
public enum ConditionalRequest {
    /// The validator of the last answer to the same request. `nil` means that the request is unconditional, so that
    /// `ItemPage.notModified` is not a valid answer.
    @TaskLocal public static var validator: Validator?

    /// `If-None-Match` and `If-Modified-Since` with their values (RFC 9110, 13.1). Empty for an unconditional request.
    public static var headers: [String: String] {
        var headers: [String: String] = [:]
        headers["If-None-Match"] = validator?.entityTag
        headers["If-Modified-Since"] = validator?.lastModified
        return headers
    }
}
