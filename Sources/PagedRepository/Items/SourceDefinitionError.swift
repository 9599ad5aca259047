/// Why a source cannot be created: a code for programs and a message for people. It reports a defect of the caller,
/// before any request is sent.
public struct SourceDefinitionError: Error, Hashable, Sendable {
    /// The code of an error. Further codes may be added, so compare with the constants and expect others.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The name of the code, as it is printed. It does not change.
        public let description: String

        /// A page size below 1.
        public static let pageSize = Code(description: "page_size")
    }

    /// The code of the error.
    public var code: Code
    /// A message of one line.
    public var message: String

    /// Creates an error with a message for people.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The error for a page size below 1.
    public static func pageSize(_ size: Int) -> SourceDefinitionError {
        SourceDefinitionError(.pageSize, "the page size \(size) is below 1")
    }
}
