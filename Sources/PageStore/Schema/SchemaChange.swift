/// A table, an index, a view or a trigger, as SQLite's table of the schema describes it.
struct SchemaObject: Hashable, Sendable {
    var type: String
    var name: String
    /// The table or view that the object belongs to, or its own name.
    var table: String
    /// Empty for an index that SQLite creates itself.
    var sql: String

    fileprivate func hasName(of other: SchemaObject) -> Bool { type == other.type && name == other.name }
    fileprivate var title: String { "the \(type) '\(name)'" }
    fileprivate var isVirtual: Bool { sql.hasPrefix("CREATE VIRTUAL TABLE") }
    /// Whether a message shows every character of the name as it is.
    fileprivate var isPrintable: Bool {
        name.unicodeScalars.allSatisfy { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: false
            default: true
            }
        }
    }
}

/// The difference between the schema of a store and the one that this package makes (R46): the cause of the error that
/// refuses the store.
package struct SchemaChange: Error, Equatable {
    /// The objects that are not of this package. The indexes and triggers of such tables are left out, and so are the
    /// tables in which a virtual table keeps its rows. SQLite removes these with their table.
    private let foreign: [SchemaObject]
    private let missing: [SchemaObject]
    private let changed: [SchemaObject]

    init(from expected: [SchemaObject], to found: [SchemaObject]) {
        let unknown = found.filter { object in !expected.contains { $0.hasName(of: object) } }
        foreign = unknown.filter { object in
            !unknown.contains { other in
                object.type == "table"
                    ? other.isVirtual && object.name.hasPrefix("\(other.name)_")
                    : other.type == "table" && other.name == object.table
            }
        }
        missing = expected.filter { object in !found.contains { $0.hasName(of: object) } }
        changed = found.filter { object in expected.contains { $0.hasName(of: object) && $0 != object } }
    }

    private var lacksOnlyIndexes: Bool { missing.allSatisfy { $0.type == "index" && !$0.sql.isEmpty } }

    /// The statements that restore the schema: those of missing indexes. Returns nil where anything else differs.
    var repair: [String]? {
        foreign.isEmpty && changed.isEmpty && !missing.isEmpty && lacksOnlyIndexes ? missing.map(\.sql) : nil
    }

    /// The difference in words, such as "has the table 'notes', which is not of a pagecache store".
    var words: String {
        func titles(_ objects: [SchemaObject]) -> String {
            objects.prefix(SchemaChange.mostNamed).map(\.title).joined(separator: ", ")
        }
        var parts: [String] = []
        if !foreign.isEmpty {
            let verb = foreign.count == 1 ? "is" : "are"
            parts.append("has \(titles(foreign)), which \(verb) not of a pagecache store")
        }
        if !missing.isEmpty { parts.append("lacks \(titles(missing))") }
        if !changed.isEmpty { parts.append("has a changed schema: \(titles(changed))") }
        return parts.isEmpty ? "does not have the schema of a pagecache store" : parts.joined(separator: ", and ")
    }

    /// Whether opening the store for writing restores the schema.
    package var isRepairable: Bool { repair != nil }

    /// Whether no statement restores the schema. A repair then copies the readable rows to a new file.
    package var isSalvageable: Bool { !isRepairable && removal == nil }

    /// The statements with which another SQLite program removes the foreign objects. `nil` means that the schema would
    /// still differ in more than missing indexes, or that a name cannot be shown.
    package var removal: String? {
        guard !foreign.isEmpty, changed.isEmpty, lacksOnlyIndexes, foreign.allSatisfy(\.isPrintable) else { return nil }
        let statements = foreign.prefix(SchemaChange.mostNamed).map { object in
            "DROP \(object.type.uppercased()) \(SQL.quoted(object.name))"
        }
        return statements.joined(separator: "; ")
    }

    /// The largest number of objects that a message names.
    private static let mostNamed = 3
}
