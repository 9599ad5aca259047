#if Tool
import ArgumentParser
import Dispatch
import PageModel
import PageStore
import PagedRepository
import Synchronization

extension CompletionKind {
    /// The ids of the queries in the store. The store is the one that `--store` names in the typed words, else the
    /// default one.
    static var queries: CompletionKind {
        .custom { (words: [String], _: Int, prefix: String) in QueryCompletion.awaitedIDs(words: words, prefix: prefix)
        }
    }
}

/// Completes the names of queries. On any error there are no completions, because a shell must not show errors.
enum QueryCompletion {
    /// The blocking form for the parser, which calls it outside any task. It blocks the main thread only, which the
    /// answer does not need.
    static func awaitedIDs(words: [String], prefix: String) -> [String] {
        let found = Mutex<[String]>([])
        let isDone = DispatchSemaphore(value: 0)
        Task.detached {
            let ids = await ids(words: words, prefix: prefix)
            found.withLock { $0 = ids }
            isDone.signal()
        }
        isDone.wait()
        return found.withLock { $0 }
    }

    static func ids(words: [String], prefix: String) async -> [String] {
        var options = CommonOptions()
        options.store = store(in: words)
        guard let store = try? await options.openStore(.readOnly) else { return [] }
        let records = (try? await store.records()) ?? []
        await store.close()
        return records.map(\.key.shortID).filter { prefix.isEmpty || $0.hasPrefix(prefix) }.sorted()
    }

    /// The word behind `--store`, or joined to it, without the quotes that shells pass along.
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
