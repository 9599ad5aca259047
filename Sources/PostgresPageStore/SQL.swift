#if PostgreSQL
import Synchronization

/// A statement of this package. `@` before the name of a table or a sequence stands for the schema of the store. All
/// data is bound (R46).
struct SQL: Hashable, Sendable {
    let text: String

    init(_ text: String) { self.text = text }
}

/// The statements of one store, with the schema in front of each name of a table or a sequence. The store sets no
/// search path, because a pooler in transaction mode does not keep it.
///
/// State: the texts with the schema, by their statements, behind a mutex.
final class Dialect: Sendable {
    /// The name of the schema, quoted.
    let schema: String
    private let texts = Mutex<[SQL: String]>([:])

    init(schema: String) {
        self.schema = "\"\(schema.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\""))\""
    }

    func text(_ sql: SQL) -> String {
        texts.withLock { texts in
            if let known = texts[sql] { return known }
            let made = sql.text.split(separator: "@", omittingEmptySubsequences: false).joined(separator: "\(schema).")
            texts[sql] = made
            return made
        }
    }

    func statement(_ sql: SQL, _ values: [Value]) -> Statement { Statement(text(sql), values) }
}
#endif
