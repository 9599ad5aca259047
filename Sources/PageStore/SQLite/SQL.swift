import Synchronization

/// The text of a statement. Each connection prepares the text at its first use, and caches the prepared statement under
/// the number.
final class SQL: Sendable {
    let text: String
    let number: Int

    private static let count = Atomic<Int>(0)

    init(_ text: String) {
        self.text = text
        number = SQL.count.add(1, ordering: .relaxed).oldValue
    }

    /// Returns the name of a table, a column or another object, quoted for use in a statement.
    static func quoted(_ name: String) -> String {
        let parts = name.split(separator: "\"", omittingEmptySubsequences: false)
        return "\"\(parts.joined(separator: "\"\""))\""
    }
}
