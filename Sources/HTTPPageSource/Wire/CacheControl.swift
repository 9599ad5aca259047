/// What `Cache-Control` and `Age` say to a private cache (RFC 9111, 5.1 and 5.2.2).
///
/// Directives for shared caches (`s-maxage`, `private`, `public`, `proxy-revalidate`) say nothing to one.
struct CacheControl: Equatable {
    /// `no-store`: nothing of the answer may be kept.
    private(set) var isNoStore = false
    /// `no-cache`: kept, and asked about before each use. With names of fields, too: that is the stricter reading.
    private(set) var isNoCache = false
    /// `max-age` in seconds, 0…2^31; nil when there is none.
    private(set) var maxAge: Int?

    /// - Parameter fields: the values of all `Cache-Control` fields, in order.
    init(_ fields: [String]) {
        for directive in fields.flatMap({ CacheControl.directives($0) }) {
            switch directive.name {
            case "no-store": isNoStore = true
            case "no-cache": isNoCache = true
            case "max-age":
                // 4.2.1: of several, the first one counts; and what is no number of seconds makes the answer stale.
                maxAge = maxAge ?? directive.value.flatMap { DeltaSeconds.parse($0) } ?? 0
            default: break
            }
        }
    }

    /// For how long the answer is fresh from now on; nil when the origin does not say.
    /// - Parameter age: the values of all `Age` fields: so long it has been kept on its way already.
    func freshFor(age: [String] = []) -> Duration? {
        if isNoCache { return .zero }
        // 5.1: of several, the first one counts; what is no number says nothing.
        let spent = age.first?.split(separator: ",").first.flatMap { DeltaSeconds.parse($0.trimmingSpaces()) } ?? 0
        return maxAge.map { .seconds(max($0 - spent, 0)) }
    }

    /// The directives of a field: names in lower case, values without their quotes.
    private static func directives(_ field: String) -> [(name: String, value: String?)] {
        var found: [(name: String, value: String?)] = []
        var rest = Substring(field)
        while !rest.isEmpty {
            let name = rest.prefix(while: { $0 != "=" && $0 != "," })
            rest = rest[name.endIndex...]
            var value: String?
            if rest.first == "=" {
                rest = rest.dropFirst()
                value = takeValue(&rest)
            }
            found.append((name.trimmingSpaces().lowercased(), value))
            // To the next comma; what stands between is nobody's.
            rest = rest.drop(while: { $0 != "," }).dropFirst()
        }
        return found
    }

    /// A token, or a quoted string with its escapes undone (RFC 9110, 5.6.4).
    private static func takeValue(_ rest: inout Substring) -> String {
        rest = rest.drop(while: { $0 == " " || $0 == "\t" })
        guard rest.first == "\"" else {
            let value = rest.prefix(while: { $0 != "," })
            rest = rest[value.endIndex...]
            return value.trimmingSpaces()
        }
        rest = rest.dropFirst()
        var value = ""
        while let character = rest.popFirst(), character != "\"" {
            if character == "\\", let escaped = rest.popFirst() {
                value.append(escaped)
            } else {
                value.append(character)
            }
        }
        return value
    }
}
