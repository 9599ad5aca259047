#if Tool
/// Adds the store of this command to the commands that messages suggest, so that a copied command finds the same store.
/// Pure.
enum StoreHint {
    /// The commands that read no store.
    private static let others: Set<String> = ["completions", "demo", "help", "man", "probe"]

    /// Returns the option `--store` in the form that a shell reads. Returns nil when a command finds the store without
    /// it, or when the place has a control character.
    /// - Parameters:
    ///   - store: the value of `--store`. `nil` means that it was not given.
    ///   - variable: the value of `PAGECACHE_STORE`, which commands of the same shell inherit.
    static func option(for store: String?, variable: String?) -> String? {
        guard let store, !store.isEmpty, store != variable else { return nil }
        let text = StorePlace(store).withoutPassword
        guard !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else { return nil }
        return "--store \(quoted(text))"
    }

    /// Returns a message whose commands, as in `'pagecache list'`, have the option. Commands that read no store, and
    /// those with a `--store` of their own, stay as they are.
    static func adding(_ option: String?, to text: String) -> String {
        guard let option, text.contains("'pagecache ") else { return text }
        return text.replacing(/'pagecache[ ]([a-z]+)([^'\n]*)'/) { match -> String in
            let command = match.output.0.dropLast()
            let rest = match.output.2
            guard !others.contains(String(match.output.1)), !rest.contains("--help"), !rest.contains("--store") else {
                return String(match.output.0)
            }
            return "\(command) \(option)'"
        }
    }

    /// The text as one word of a shell. Double quotes, because messages put commands into single ones.
    static func quoted(_ text: String) -> String {
        let plain = text.unicodeScalars.allSatisfy { scalar in
            scalar.isASCII && scalar.properties.isAlphabetic || scalar.properties.numericType != nil && scalar.isASCII
                || "_./:@%+=,-".unicodeScalars.contains(scalar)
        }
        if plain { return text }
        return "\"" + text.replacing(/["$`\\]/) { "\\\($0.output)" } + "\""
    }
}
#endif
