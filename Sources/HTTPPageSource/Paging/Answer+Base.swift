// Links that are relative to a base in the answer, instead of its URL: `{"base": "http://h/wiki", "next": "/content?…"}`.
extension Answer {
    /// Returns a link behind the base that stands next to it, or next to its object. Returns every other text unchanged.
    ///
    /// A link from the root of the host leads to the path of the answer as it is, or only behind the base. Such a base is
    /// a URL of this origin (`base`), or a path (`context`).
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
