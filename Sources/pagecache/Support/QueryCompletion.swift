#if Tool
import ArgumentParser
import Dispatch
import PageModel
import PageStore
import PagedRepository
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension CompletionKind {
    /// The keys and ids of the queries in the store. The store is the one that `--store` names in the typed words, else
    /// the default one.
    static var queries: CompletionKind {
        .custom { (words: [String], _: Int, prefix: String) in
            QueryCompletion.awaited(words: words, prefix: prefix, shell: CompletionShell.requesting)
        }
    }

    /// The names of environment variables.
    static var variables: CompletionKind {
        .custom { (_: [String], _: Int, prefix: String) in
            ProcessInfo.processInfo.environment.keys.filter { $0.hasPrefix(prefix) }.sorted()
        }
    }
}

/// Completes the names of queries. On any error there are no completions, because a shell must not show errors.
enum QueryCompletion {
    /// The blocking form for the parser, which calls it outside any task. It blocks only the main thread, and reading
    /// the store does not need that thread.
    static func awaited(words: [String], prefix: String, shell: CompletionShell?) -> [String] {
        let found = Mutex<[QueryKey]>([])
        let isDone = DispatchSemaphore(value: 0)
        Task.detached {
            let keys = await keys(words: words)
            found.withLock { $0 = keys }
            isDone.signal()
        }
        isDone.wait()
        return candidates(found.withLock { $0 }, prefix: prefix, shell: shell)
    }

    private static func keys(words: [String]) async -> [QueryKey] {
        var options = CommonOptions()
        options.store = store(in: words)
        guard let store = try? await options.place.open(.reading) else { return [] }
        let records = (try? await store.records()) ?? []
        await store.close()
        return records.map(\.key)
    }

    /// The completions of a prefix, in the form of a shell. Keys come first, with their ids as descriptions where the
    /// shell shows descriptions. Ids follow when the prefix begins one. A key in several scopes is ambiguous, so the
    /// ids of its queries are offered instead. The id also replaces a key with control characters. Pure.
    static func candidates(_ keys: [QueryKey], prefix: String, shell: CompletionShell?) -> [String] {
        // Keys without the scheme name queries, too.
        let prefix = prefix.filter { $0 != "\"" && $0 != "'" && $0 != "\\" }
        let isScheme = prefix.hasPrefix("http")
        let names = keys.map { key in
            let place = key.text.firstRange(of: "://").map { String(key.text[$0.upperBound...]) } ?? key.text
            let isUnique = keys.count { $0.text == key.text } == 1
            // A line break or an escape sequence has another meaning for a shell and its terminal.
            let isPrintable = Printable.text(key.text) == key.text
            let name = isUnique && isPrintable ? isScheme ? key.text : place : key.shortID
            return (name: name, id: key.shortID, isPlain: isPlain(name))
        }.sorted { ($0.name, $0.id) < ($1.name, $1.id) }
        switch shell {
        case .zsh?:
            // `name:description`; a colon of the name is escaped.
            return names.filter { $0.name.hasPrefix(prefix) }.map { "\($0.name.replacing(":", with: "\\:")):\($0.id)" }
                + ids(names.map { ($0.id, $0.name) }, prefix).map { "\($0.0):\($0.1.replacing(":", with: "\\:"))" }
        case .fish?:
            return names.filter { $0.name.hasPrefix(prefix) }.map { "\($0.name)\t\($0.id)" }
                + ids(names.map { ($0.id, $0.name) }, prefix).map { "\($0.0)\t\($0.1)" }
        default:
            // The script expands candidates as the shell expands words, so a name that needs quotes is completed by
            // its id.
            return names.filter { $0.isPlain && $0.name.hasPrefix(prefix) }.map(\.name)
                + names.filter { ($0.isPlain ? !prefix.isEmpty : true) && $0.id.hasPrefix(prefix) }.map(\.id)
        }
    }

    private static func ids(_ ids: [(String, String)], _ prefix: String) -> [(String, String)] {
        prefix.isEmpty ? [] : ids.filter { $0.0.hasPrefix(prefix) }
    }

    /// Whether `compgen -W` of bash leaves the text as one word, unchanged.
    private static func isPlain(_ text: String) -> Bool {
        text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "-_./%+,=@:?&".utf8.contains(byte)
            }
        }
    }

    /// The word after `--store`, or joined to it, without the quotes that shells pass along.
    static func store(in words: [String]) -> String? {
        for (index, word) in words.enumerated() {
            var path: String?
            if word == "--store", index + 1 < words.count { path = words[index + 1] }
            if word.hasPrefix("--store=") { path = String(word.dropFirst("--store=".count)) }
            if let path { return path.filter { $0 != "\"" && $0 != "'" && $0 != "\\" } }
        }
        return nil
    }
}
#endif
