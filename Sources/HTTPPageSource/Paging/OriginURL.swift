import PageModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A URL whose parameters can be set and removed, while all other parts keep their spelling.
///
/// Parameters stay percent-encoded as received (RFC 3986, 2.1), so requests use the spelling of the origin.
struct OriginURL: Hashable, Sendable {
    struct Parameter: Hashable, Sendable {
        /// Percent-encoded, as in the URL.
        var name: String
        /// Percent-encoded. `nil` when the parameter has no equals sign.
        var value: String?

        var plainName: String { name.percentDecoded ?? name }
        var plainValue: String { value.map { String($0.map { $0 == "+" ? " " : $0 }).percentDecoded ?? $0 } ?? "" }
    }

    private var components: URLComponents
    var parameters: [Parameter]

    /// Returns nil unless `text` is an absolute http or https URL with an ASCII host. A port must be from 1 to 65535
    /// (`refusal(of:)`).
    init?(_ text: String) {
        guard OriginURL.refusal(of: text) == nil, var components = URLComponents(string: text.escapingIllegalBytes),
            let scheme = components.scheme?.lowercased(), let host = components.host, OriginURL.isHost(host)
        else { return nil }
        components.scheme = scheme
        components.fragment = nil
        parameters = OriginURL.parse(components.percentEncodedQuery)
        components.percentEncodedQuery = nil
        self.components = components
        // A host that cannot be written back (`http://%2F`) would give many lists the same empty key (R45).
        if components.string == nil { return nil }
    }

    /// Brackets are valid only around an address (RFC 3986, 3.2.2). A URL such as `http://[` would crash the HTTP
    /// client.
    private static func isHost(_ host: String) -> Bool {
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]") && host.count > 1
        let name = isBracketed ? host.dropFirst().dropLast() : host[...]
        return !name.isEmpty && !name.contains { $0 == "[" || $0 == "]" }
    }

    /// Resolves `reference`, an absolute or relative URL reference, against this URL (RFC 3986, 5). `&amp;` stands for
    /// `&`, as in links that the origin has escaped as HTML. Returns nil when the result is not a usable http or https
    /// URL.
    func resolving(_ reference: String) -> OriginURL? {
        var reference = reference.replacing("&amp;", with: "&").unescapedLink.withoutTemplate
        if isQuery(reference) { reference = "?" + reference }
        guard reference.hasPlainAuthority, let base = URL(string: text),
            let url = URL(string: reference.escapingIllegalBytes, relativeTo: base)
        else { return nil }
        return OriginURL(url.absoluteString)
    }

    /// Whether a text is a query without its question mark: `kind=a&page=2`. Each parameter has a value, and at least
    /// one is a parameter of this URL, or has the name of a paging parameter.
    func isQuery(_ text: String) -> Bool {
        guard !text.contains(where: { "/?#:".contains($0) || $0.isWhitespace }) else { return false }
        let found = OriginURL.parse(text)
        return !found.isEmpty && found.allSatisfy { !$0.name.isEmpty && $0.value?.isEmpty == false }
            && found.contains { value(of: $0.plainName) != nil || ParameterNames.isPaging($0.plainName) }
    }

    var text: String {
        var components = components
        if !parameters.isEmpty {
            components.percentEncodedQuery = parameters.map { parameter in
                parameter.value.map { "\(parameter.name)=\($0)" } ?? parameter.name
            }.joined(separator: "&")
        }
        return components.string ?? ""
    }

    var scheme: String { components.scheme ?? "" }
    /// The host in lower case.
    var host: String { (components.host ?? "").lowercased() }
    /// The percent-encoded path.
    var path: String { components.percentEncodedPath }
    var port: Int { components.port ?? usualPort }
    var hasUsualPort: Bool { port == usualPort }
    private var usualPort: Int { scheme == "https" ? 443 : 80 }

    /// Scheme, host and port, for people.
    var originText: String { "\(scheme)://\(host)\(hasUsualPort ? "" : ":\(port)")" }

    /// User and password in front of the host: a secret. This property can only be set to nil.
    var userInfo: String? {
        get { components.user.map { user in components.password.map { "\(user):\($0)" } ?? user } }
        set {
            precondition(newValue == nil, "credentials are taken out of URLs, never put in")
            components.user = nil
            components.password = nil
        }
    }

    /// The same path and parameters at another host.
    func moved(toHost host: String, port: Int) -> OriginURL {
        var url = self
        url.components.host = host
        url.components.port = port
        return url
    }

    /// Compares scheme, host and port (RFC 6454).
    func hasSameOrigin(as other: OriginURL) -> Bool {
        scheme == other.scheme && host == other.host && port == other.port
    }

    func value(of name: String) -> String? {
        parameters.first { $0.plainName == name }?.plainValue
    }

    /// Sets a parameter in its place, or appends it.
    mutating func set(_ name: String, _ value: String) {
        let encoded = Parameter(name: OriginURL.encode(name), value: OriginURL.encode(value))
        if let index = parameters.firstIndex(where: { $0.plainName == name }) {
            parameters[index].value = encoded.value
        } else {
            parameters.append(encoded)
        }
    }

    mutating func removeParameters(where isUnwanted: (Parameter) -> Bool) {
        parameters.removeAll(where: isUnwanted)
    }

    /// The URL as a query key (R45): host in lower case, no default port, sorted parameters, no paging, no secrets.
    func canonicalText(without names: Set<String>) -> String {
        var url = self
        url.userInfo = nil
        url.components.host = host
        if hasUsualPort { url.components.port = nil }
        if url.components.percentEncodedPath.isEmpty { url.components.percentEncodedPath = "/" }
        url.parameters = parameters.filter {
            !names.contains($0.plainName) && !ParameterNames.isPaging($0.plainName) && !ParameterNames.isSecret($0)
        }.sorted { ($0.name, $0.value ?? "") < ($1.name, $1.value ?? "") }
        return url.text
    }

    private static func parse(_ query: String?) -> [Parameter] {
        (query ?? "").split(separator: "&").map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return Parameter(name: String(parts[0]), value: parts.count > 1 ? String(parts[1]) : nil)
        }
    }

    private static func encode(_ text: String) -> String {
        // Every character outside the unreserved set is encoded, so that no value can add a parameter (RFC 3986, 2.3).
        var result = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                result.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                result += byte.percentEncoded
            }
        }
        return result
    }
}

extension String {
    /// A link without its expressions for parameters that the caller may add (RFC 6570, 3.2): `/orders?page=2{&sort}`.
    fileprivate var withoutTemplate: String {
        var rest = self[...], result = ""
        while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
            let inner = rest[rest.index(after: open)..<close]
            let isExpression =
                inner.count > 1 && "?&/#;.".contains(inner.first ?? " ")
                && inner.dropFirst().allSatisfy { $0.isLetter || $0.isNumber || "_.,*:%".contains($0) }
            result += rest[..<open]
            if !isExpression { result += rest[open...close] }
            rest = rest[rest.index(after: close)...]
        }
        return result + rest
    }

    /// A link that is percent-encoded as a whole, decoded: `http%3A%2F%2F…`. Returns any other text unchanged.
    var unescapedLink: String {
        let start = prefix(12).lowercased()
        guard ["http%3a%2f%2f", "https%3a%2f%2f"].contains(where: { $0.hasPrefix(start) }) || start.hasPrefix("%2f"),
            let decoded = percentDecoded, decoded.hasPrefix("http") || decoded.hasPrefix("/") && decoded.contains("?")
        else { return self }
        return decoded
    }
}
