import PageModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A URL taken apart so far that parameters can be set and taken away, with everything else kept as it was written.
///
/// Parameters stay percent-encoded as received (RFC 3986, 2.1): an origin's own spelling is what it is asked with.
struct OriginURL: Hashable, Sendable {
    struct Parameter: Hashable, Sendable {
        /// Encoded, as in the URL.
        var name: String
        /// Encoded; nil when there is no equals sign.
        var value: String?

        var plainName: String { name.percentDecoded ?? name }
        var plainValue: String { value.map { String($0.map { $0 == "+" ? " " : $0 }).percentDecoded ?? $0 } ?? "" }
    }

    private var components: URLComponents
    var parameters: [Parameter]

    /// Nil unless `text` is an absolute http or https URL with a host.
    init?(_ text: String) {
        guard var components = URLComponents(string: text), let scheme = components.scheme?.lowercased(),
            scheme == "http" || scheme == "https", let host = components.host, OriginURL.isHost(host)
        else { return nil }
        components.scheme = scheme
        components.fragment = nil
        if !host.utf8.allSatisfy({ $0 < 0x80 }) {
            guard let ascii = HostName.ascii(host) else { return nil }
            components.percentEncodedHost = ascii
        }
        parameters = OriginURL.parse(components.percentEncodedQuery)
        components.percentEncodedQuery = nil
        self.components = components
        // A host that cannot be written again (`http://%2F`) would make one and the same empty key of many lists (R45).
        if components.string == nil { return nil }
    }

    /// Brackets stand around an address and nowhere else (RFC 3986, 3.2.2): `http://[` would end the process in the
    /// HTTP client.
    private static func isHost(_ host: String) -> Bool {
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]") && host.count > 1
        let name = isBracketed ? host.dropFirst().dropLast() : host[...]
        return !name.isEmpty && !name.contains { $0 == "[" || $0 == "]" }
    }

    /// `reference` as seen from this URL (RFC 3986, 5): absolute, or relative to it.
    func resolving(_ reference: String) -> OriginURL? {
        guard let base = URL(string: text), let url = URL(string: reference, relativeTo: base) else { return nil }
        return OriginURL(url.absoluteString)
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
    /// In small letters, and as the network knows it. Where Foundation is in the program, `components` gives it in its
    /// own script.
    var host: String { (components.host.flatMap { HostName.ascii($0) } ?? "").lowercased() }
    /// As it is written.
    var path: String { components.percentEncodedPath }
    var port: Int { components.port ?? usualPort }
    var hasUsualPort: Bool { port == usualPort }
    private var usualPort: Int { scheme == "https" ? 443 : 80 }

    /// User and password in front of the host; a secret.
    var userInfo: String? {
        get { components.user.map { user in components.password.map { "\(user):\($0)" } ?? user } }
        set {
            precondition(newValue == nil, "credentials are taken out of URLs, never put in")
            components.user = nil
            components.password = nil
        }
    }

    /// Scheme, host and port (RFC 6454).
    func hasSameOrigin(as other: OriginURL) -> Bool {
        scheme == other.scheme && host == other.host && port == other.port
    }

    func value(of name: String) -> String? {
        parameters.first { $0.plainName == name }?.plainValue
    }

    /// Sets a parameter in its place, or adds it.
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

    /// The URL as a query key (R45): host in lower case, no default port, parameters sorted, no paging, no secrets.
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
        // RFC 3986, 2.3: what is not unreserved is encoded, so that no value can add a parameter.
        var result = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                result.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let hex = String(byte, radix: 16, uppercase: true)
                result += "%" + (hex.count == 1 ? "0" + hex : hex)
            }
        }
        return result
    }
}
