import Synchronization

/// The text of a statement. Every connection prepares it once and caches the prepared statement under its number.
final class SQL: Sendable {
    let text: String
    let number: Int

    private static let count = Atomic<Int>(0)

    init(_ text: String) {
        self.text = text
        number = SQL.count.add(1, ordering: .relaxed).oldValue
    }

    /// The name of a table, a column or another object as a part of a statement.
    static func quoted(_ name: String) -> String {
        let parts = name.split(separator: "\"", omittingEmptySubsequences: false)
        return "\"\(parts.joined(separator: "\"\""))\""
    }
}
