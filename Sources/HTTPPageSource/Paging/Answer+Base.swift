// Links that are relative to a base in the answer, and not to the URL of the answer:
// `{"base": "http://h/wiki", "next": "/content?…"}`.
extension Answer {
    /// Returns a link with the path of its base in front. Returns any other text unchanged.
    ///
    /// The base is the member `base` (a URL of this origin) or `context` (a path), next to the link or next to its
    /// object. The base is used only if the link has the path of the answer with the base, and another path without it.
    func based(_ text: String, at place: JSONPointer) -> String {
        guard text.hasPrefix("/"), !text.hasPrefix("//"), let plain = url.resolving(text), plain.path != url.path else {
            return text
        }
        let holders = [1, 2].filter { $0 <= place.tokens.count }.map {
            JSONPointer(tokens: Array(place.tokens.dropLast($0)))
        }
        for holder in holders {
            for name in ["base", "context"] {
                guard let value = document.value(at: holder.appending(name)), let base = document.string(value),
                    let start = url.resolving(base), start.hasSameOrigin(as: url)
                else { continue }
                let path = String(start.path.hasSuffix("/") ? start.path.dropLast() : start.path[...])
                if let joined = url.resolving(path + text), joined.path == url.path { return path + text }
            }
        }
        return text
    }
}
