/// Why a source cannot be made as it was described: a code to decide by, and a message for people. A defect of the
/// caller, found before anything is asked (X8).
public struct SourceDefinitionError: Error, Hashable, Sendable {
    /// Closed inside, open outside: compare with the constants, and expect more of them.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The word for it, which is printed and does not change.
        public let description: String

        /// A page of no items, or of fewer than none.
        public static let pageSize = Code(description: "page_size")
    }

    /// What to decide by.
    public var code: Code
    /// One line.
    public var message: String

    /// An error; `message` is for people.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The error for a page size that is none.
    public static func pageSize(_ size: Int) -> SourceDefinitionError {
        SourceDefinitionError(.pageSize, "pages of \(size) items cannot be asked for; at least 1 is needed")
    }

    /// The size, if pages can have it.
    static func checked(pageSize size: Int) throws(SourceDefinitionError) -> Int {
        guard size > 0 else { throw .pageSize(size) }
        return size
    }
}
