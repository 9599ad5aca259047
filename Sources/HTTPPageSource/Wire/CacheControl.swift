/// The directives of `Cache-Control` and `Age` for a private cache (RFC 9111, 5.1 and 5.2.2).
///
/// Directives for shared caches (`s-maxage`, `private`, `public`, `proxy-revalidate`) are ignored.
struct CacheControl: Equatable {
    /// `no-store`: no part of the answer may be stored.
    private(set) var isNoStore = false
    /// `no-cache`: the answer is stored and validated before each use. A directive that names fields
    /// (`no-cache="field"`) is read in the same way, although it covers these fields only.
    private(set) var isNoCache = false
    /// `max-age` in seconds, from 0 to 2^31. `nil` means there is none.
    private(set) var maxAge: Int?

    /// - Parameter fields: the values of all `Cache-Control` fields, in order.
    init(_ fields: [String]) {
        for directive in fields.flatMap({ CacheControl.directives($0) }) {
            switch directive.name {
            case "no-store": isNoStore = true
            case "no-cache": isNoCache = true
            case "max-age":
                // The first of several values counts, and an invalid number makes the answer stale (RFC 9111, 4.2.1).
                maxAge = maxAge ?? directive.value.flatMap { DeltaSeconds.parse($0) } ?? 0
            default: break
            }
        }
    }

    /// The time for which the answer stays fresh from now on. Returns nil when the origin states none.
    /// - Parameter age: the values of all `Age` fields, the time already spent in caches on the way.
    func freshFor(age: [String] = []) -> Duration? {
        if isNoCache { return .zero }
        // The first of several values counts, and an invalid number is ignored (RFC 9111, 5.1).
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
            // Skips to the next comma. Text before it belongs to no directive.
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
