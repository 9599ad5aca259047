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
}
