import PageModel

/// A successful answer whose body is JSON: the input of detection and of page reading.
struct Answer {
    let response: HTTPPageResponse
    let document: JSONDocument
    /// The requested URL, without secrets.
    let url: OriginURL
    /// Secret parameters of the caller that an origin may echo.
    let secrets: [OriginURL.Parameter]
    /// The policy for the targets of next links. `nil` admits only the origin itself.
    let policy: OriginPolicy?

    /// - Throws: `FetchFailure` with class `undecodable` when the body is not JSON, with a message that names the
    ///   content that arrived instead. With class `limitExceeded` when the body nests too deeply.
    init(
        _ response: HTTPPageResponse, url: OriginURL, secrets: [OriginURL.Parameter] = [], policy: OriginPolicy? = nil,
        limits: HTTPLimits
    ) throws(FetchFailure) {
        self.response = response
        self.policy = policy
        self.secrets = secrets
        self.url = url
        document = try Answer.read(response, limits)
    }

    private static func read(_ response: HTTPPageResponse, _ limits: HTTPLimits) throws(FetchFailure) -> JSONDocument {
        do throws(JSONError) {
            return try JSONDocument(JSONWrapping.unwrapped(response), depthLimit: limits.depth)
        } catch {
            switch error {
            case .tooDeep:
                throw FetchFailure(
                    .limitExceeded, "the answer nests deeper than \(limits.depth) levels", isRetryable: false)
            case .malformed(let position):
                guard let converted = try BodyCharset.converted(response) else {
                    throw FetchFailure(
                        .undecodable, Answer.whatCame(response, position), isRetryable: false,
                        httpStatus: response.status)
                }
                // The converted body has no charset any more, so that it is not converted again.
                var plain = response
                plain.body = converted
                plain.headers.removeAll { $0.name.lowercased() == "content-type" }
                return try read(plain, limits)
            }
        }
    }

    func text(at place: HTTPSourceConfiguration.Place) -> String? {
        switch place {
        case .body(let pointer):
            return document.value(at: pointer).flatMap { document.scalarText($0) }.map { based($0, at: pointer) }
                ?? pointer.linkArray.flatMap { nextLink(in: $0) }
        case .header(let name) where name.contains(Answer.headerMark):
            guard let (document, value) = jsonInHeader(name) else { return nil }
            return document.scalarText(value)
        case .header(let name):
            // A `Link` header can hold many links. The one with `rel="next"` counts.
            return name.lowercased() == "link"
                ? response.header(name).flatMap { LinkHeader.target(rel: "next", in: $0) } : response.header(name)
        }
    }

    func number(at place: HTTPSourceConfiguration.Place) -> Int? {
        switch place {
        case .body(let pointer):
            return document.value(at: pointer).flatMap { value in
                document.integer(value) ?? document.string(value).flatMap { StatedRange($0)?.total }
            }
        case .header(let name) where name.contains(Answer.headerMark):
            guard let (document, value) = jsonInHeader(name) else { return nil }
            return document.integer(value)
        case .header(let name):
            guard let field = response.header(name) else { return nil }
            // `Content-Range: items 0-24/66` (RFC 9110, 14.4).
            return JSONText.wholeNumber(field.split(separator: "/").last.map(String.init) ?? field)
                ?? StatedRange(field)?.total
        }
    }

    /// The range in the text at a place, such as `1-18 of 95`. Returns nil for any other value.
    func statedRange(at place: HTTPSourceConfiguration.Place) -> StatedRange? {
        switch place {
        case .body(let pointer):
            document.value(at: pointer).flatMap { document.string($0) }.flatMap { StatedRange($0) }
        case .header(let name):
            response.header(name).flatMap { StatedRange($0) }
        }
    }

    /// Separates the name of a header from a pointer into the JSON object that the header holds:
    /// `X-Pagination#/TotalCount`.
    static let headerMark = "#"

    private func jsonInHeader(_ place: String) -> (document: JSONDocument, value: JSONValue)? {
        let parts = place.split(separator: Answer.headerMark, maxSplits: 1).map(String.init)
        guard parts.count == 2, let pointer = JSONPointer(parts[1]), let field = response.header(parts[0]),
            let document = try? JSONDocument(Array(field.utf8), depthLimit: 4),
            let value = document.value(at: pointer)
        else { return nil }
        return (document, value)
    }

    /// The target of the link with `rel="next"` in an array of links. `rel` may also hold a list of relations.
    private func nextLink(in pointer: JSONPointer) -> String? {
        guard let list = document.value(at: pointer) else { return nil }
        for link in document.elements(of: list, atMost: Answer.mostLinks) {
            guard let relation = ["rel", "relation"].lazy.compactMap({ self.document.member($0, of: link) }).first
            else { continue }
            let parts =
                document.kind(of: relation) == .array
                ? document.elements(of: relation, atMost: Answer.mostLinks) : [relation]
            let relations = parts.compactMap { document.string($0) }.flatMap { $0.split(separator: " ") }
            guard relations.contains(where: { $0.lowercased() == "next" }) else { continue }
            return ["href", "url", "uri"].lazy.compactMap { self.document.member($0, of: link) }.first.flatMap {
                document.string($0)
            }
        }
        return nil
    }

    /// The largest number of links that the search reads. A longer array probably holds other data.
    private static let mostLinks = 1_000

    private static func whatCame(_ response: HTTPPageResponse, _ position: Int) -> String {
        let start = response.body.drop { $0 == 0x20 || $0 == 0x0A || $0 == 0x0D || $0 == 0x09 }
        if start.isEmpty { return "the answer is empty, not JSON; check the URL" }
        if start.first == UInt8(ascii: "<") { return "the answer is HTML or XML, not JSON; check the URL" }
        return "the answer is not JSON (byte \(position))"
    }
}
