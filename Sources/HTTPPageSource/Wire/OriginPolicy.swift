/// Where a source may go, and who is told the caller's secrets (R45).
struct OriginPolicy: Sendable {
    enum Verdict: Equatable {
        /// The origin itself: it is asked with everything the caller configured.
        case home
        /// Another one that the caller allowed: it is asked like a stranger.
        case elsewhere
        /// Nobody is asked; why.
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

    /// Whether credentials may be sent there: the same scheme, host and port (RFC 6454), or the same host by https.
    func isHome(_ url: OriginURL) -> Bool {
        if url.hasSameOrigin(as: home) { return true }
        // Another port may be another's service, unless it is the usual one of https.
        return home.scheme == "http" && url.scheme == "https" && url.host == home.host
            && (url.port == home.port || (home.port == 80 && url.port == 443))
    }

    /// Whether it may be asked at all.
    func admits(_ url: OriginURL) -> Bool {
        isHome(url) || allowed.contains("\(url.host):\(url.port)") || (url.hasUsualPort && allowed.contains(url.host))
    }

    /// What is to be thought of a redirect.
    func verdict(on next: OriginURL, from current: OriginURL) -> Verdict {
        if current.scheme == "https", next.scheme != "https" {
            return .refused("the origin redirects from https to http")
        }
        if isHome(next) { return .home }
        return admits(next) ? .elsewhere : .refused("the origin redirects to another origin")
    }
}
