// Types with secrets do not show them in printed forms: `print`, a log line, a failed expectation, `dump` (R45).

extension HTTPField: CustomStringConvertible, CustomReflectable {
    public var description: String { "\(name): …" }
    public var customMirror: Mirror { Mirror(self, children: ["name": name]) }
}

extension HTTPPageRequest: CustomStringConvertible, CustomReflectable {
    public var description: String { "\(method) \(OriginURL.place(of: url))" }
    public var customMirror: Mirror {
        Mirror(self, children: ["method": method, "url": OriginURL.place(of: url), "headers": headers])
    }
}

extension HTTPSourceConfiguration: CustomStringConvertible, CustomReflectable {
    public var description: String { "HTTPSourceConfiguration(\(OriginURL.place(of: url)))" }
    public var customMirror: Mirror {
        Mirror(self, children: ["url": OriginURL.place(of: url), "paging": paging, "headers": headers])
    }
}

extension HTTPSource: CustomStringConvertible, CustomReflectable {
    public var description: String { "HTTPSource(\(OriginURL.place(of: configuration.url)))" }
    public var customMirror: Mirror { Mirror(self, children: ["url": OriginURL.place(of: configuration.url)]) }
}

extension OriginURL {
    /// Scheme, host, port and path of a URL, which can be shown whatever secrets its parameters hold. `?…` at the end
    /// stands for parameters. Returns `?` for a text that is not a URL.
    static func place(of text: String) -> String {
        guard var url = OriginURL(text) else { return "?" }
        url.userInfo = nil
        let hasParameters = !url.parameters.isEmpty
        url.parameters = []
        return url.text + (hasParameters ? "?…" : "")
    }
}
