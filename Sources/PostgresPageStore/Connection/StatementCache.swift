#if PostgreSQL
/// The named statements of one session, by SQL text and parameter types. A statement gets a name at its second use.
struct StatementCache {
    enum Plan: Hashable {
        case unnamed
        /// Prepare the statement under this name, then run it.
        case prepare(name: String)
        case named(String)
    }

    private enum Status { case seen, preparing, ready }

    private struct Variant {
        let types: [UInt32]
        var status: Status
        let name: String

        /// Whether the parameters have the types of this variant. NULL has any type.
        func accepts(_ types: [UInt32]) -> Bool {
            self.types.count == types.count && zip(self.types, types).allSatisfy { $0 == $1 || $1 == 0 }
        }
    }

    /// The most names in a session. The server keeps a plan for each name, and a request to drop one would cost a round
    /// trip.
    static let mostNames = 256

    /// Whether statements get names. Names need a session that belongs to this connection alone. A pooler in
    /// transaction mode may run each request in another session.
    var isEnabled = false
    private var variants: [String: [Variant]] = [:]
    private var names = 0

    mutating func plan(_ statement: EncodedStatement) -> Plan {
        guard isEnabled else { return .unnamed }
        guard let index = variants[statement.sql]?.firstIndex(where: { $0.accepts(statement.types) }),
            let variant = variants[statement.sql]?[index]
        else {
            if names < StatementCache.mostNames {
                names += 1
                let variant = Variant(types: statement.types, status: .seen, name: "p\(names)")
                variants[statement.sql, default: []].append(variant)
            }
            return .unnamed
        }
        switch variant.status {
        case .seen:
            variants[statement.sql]?[index].status = .preparing
            return .prepare(name: variant.name)
        case .preparing: return .unnamed
        case .ready: return .named(variant.name)
        }
    }

    /// Records the result of a preparation. A statement whose preparation failed is prepared again at its next use.
    mutating func prepared(_ name: String, sql: String, isReady: Bool) {
        guard let index = variants[sql]?.firstIndex(where: { $0.name == name }) else { return }
        variants[sql]?[index].status = isReady ? .ready : .seen
    }

    /// Forgets a statement whose plan is missing or outdated. Its next name is a new one.
    mutating func forget(_ sql: String) { variants[sql] = nil }
}
#endif
