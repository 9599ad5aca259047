/// The origins that a source may send requests to, and the ones that receive the caller's secrets (R45).
struct OriginPolicy: Sendable {
    enum Decision: Equatable {
        /// The origin itself: requests carry all that the caller configured.
        case home
        /// Another origin that the caller allowed: requests carry no secrets.
        case elsewhere
        /// The URL must not be requested, with the reason.
        case refused(String)
    }

    /// The origin of the caller's URL.
    let home: OriginURL
    /// `host`, or `host:port`, in lower case.
    private let allowed: Set<String>

    init(home: OriginURL, allowed: Set<String>) {
        self.home = home
        self.allowed = Set(allowed.map { $0.lowercased() })
    }

    /// Whether credentials may be sent to a URL: it has the same scheme, host and port (RFC 6454). For an http origin,
    /// the same host by https is allowed, too.
    func isHome(_ url: OriginURL) -> Bool {
        if url.hasSameOrigin(as: home) { return true }
        // Another port may belong to another service, unless it is the default port of https.
        return home.scheme == "http" && url.scheme == "https" && url.host == home.host
            && (url.port == home.port || (home.port == 80 && url.port == 443))
    }

    /// Whether a URL may be requested at all.
    func admits(_ url: OriginURL) -> Bool {
        isHome(url) || allowed.contains("\(url.host):\(url.port)") || (url.hasUsualPort && allowed.contains(url.host))
    }

    /// The decision on a redirect or link from `current` to `next`.
    func decision(on next: OriginURL, from current: OriginURL) -> Decision {
        if current.scheme == "https", next.scheme != "https" {
            return .refused("the origin redirects from https to http")
        }
        if isHome(next) { return .home }
        if admits(next) { return .elsewhere }
        return .refused(
            "the origin redirects to another origin, \(next.originText); if that origin is right, use its URL")
    }
}
