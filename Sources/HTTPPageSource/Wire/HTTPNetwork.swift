public import PageModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// How connections are made: the proxies on the way, and the authorities whose certificates are trusted.
public struct HTTPNetwork: Hashable, Sendable {
    /// A proxy for HTTP. Its printed form shows no credential.
    public struct Proxy: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
        /// The host of the proxy.
        public var host: String
        /// The port of the proxy.
        public var port: Int
        /// User and password. `nil` sends none. Never stored and never logged (R45).
        public var userInfo: String?

        /// Parses `http://user:password@host:port`. Scheme, credential and port may be left out; the port defaults to
        /// 80.
        /// - Throws: `FetchFailure` with class `rejected` for another scheme, and for a text that is not a URL.
        public init(_ text: String) throws(FetchFailure) {
            let text = text.contains("://") ? text : "http://" + text
            guard text.lowercased().hasPrefix("http://"), let url = OriginURL(text) else {
                throw FetchFailure(
                    .rejected, "the address of a proxy must be http://host:port", isRetryable: false)
            }
            (host, port, userInfo) = (url.host, url.port, url.userInfo.map { $0.percentDecoded ?? $0 })
        }

        public var description: String { "\(host):\(port)" }
        public var customMirror: Mirror { Mirror(self, children: ["host": host, "port": port]) }

        /// The value of `Proxy-Authorization` (RFC 7617).
        var authorization: String? { userInfo.map { "Basic " + Data($0.utf8).base64EncodedString() } }
    }

    /// A file with the certificates of the trusted authorities, in PEM form. `nil` means the authorities of the system.
    /// Defaults to `nil`.
    public var certificates: String?
    /// The proxy for http URLs. A request to the proxy names the whole URL (RFC 9112, 3.2.2). `nil` means no proxy.
    /// Defaults to `nil`.
    public var httpProxy: Proxy?
    /// The proxy for https URLs. Requests go through a tunnel that the proxy opens on CONNECT (RFC 9110, 9.3.6). `nil`
    /// means no proxy. Defaults to `nil`.
    public var httpsProxy: Proxy?
    /// Hosts that are reached without a proxy, in lower case: `host`, `.domain`, `host:port`, or `*` for all. A name
    /// includes its subdomains. Defaults to none.
    public var directHosts: [String] = []

    /// Direct connections, and the authorities of the system.
    public init() {}

    /// Reads the usual variables: `HTTP_PROXY`, `HTTPS_PROXY`, `NO_PROXY` and `SSL_CERT_FILE`. A variable whose name is
    /// in lower case takes precedence. An empty value counts as unset.
    /// - Throws: `FetchFailure` with class `rejected` for a proxy that is not an http URL. The message names the
    ///   variable.
    public init(environment: [String: String]) throws(FetchFailure) {
        func value(_ name: String) -> String? {
            [name.lowercased(), name].lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
        }
        func proxy(_ name: String) throws(FetchFailure) -> Proxy? {
            guard let text = value(name) else { return nil }
            do throws(FetchFailure) {
                return try Proxy(text)
            } catch {
                throw FetchFailure(.rejected, "\(name): \(error.message)", isRetryable: false)
            }
        }
        httpProxy = try proxy("HTTP_PROXY")
        httpsProxy = try proxy("HTTPS_PROXY")
        directHosts = (value("NO_PROXY") ?? "").split { $0 == "," || $0 == " " }.map { $0.lowercased() }
        certificates = value("SSL_CERT_FILE")
    }

    /// The proxy for a URL. Returns nil for a direct connection.
    func proxy(for url: OriginURL) -> Proxy? {
        guard let proxy = url.scheme == "https" ? httpsProxy : httpProxy else { return nil }
        return directHosts.contains { entry in
            if entry == "*" { return true }
            let name = entry.hasPrefix(".") ? String(entry.dropFirst()) : entry
            return [url.host, "\(url.host):\(url.port)"].contains { $0 == name || $0.hasSuffix("." + name) }
        } ? nil : proxy
    }
}
