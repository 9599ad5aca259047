/// The reason why a storage operation failed: a code for decisions, a message for people, and the underlying error.
public struct StorageError: Error, Sendable {
    /// The code of an error. Compare it with the constants, and expect further codes in later versions.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The printed name of the code, which never changes.
        public let description: String

        /// No store exists at the path, or in the schema of the server.
        public static let notFound = Code(description: "not_found")
        /// The store or its directory cannot be created.
        public static let cannotCreate = Code(description: "cannot_create")
        /// The file is not a store of this package. It was not changed.
        public static let notAStore = Code(description: "not_a_store")
        /// The store was written by a newer version. It was not changed.
        public static let newerSchema = Code(description: "newer_schema")
        /// The bytes of the store are damaged.
        public static let damaged = Code(description: "damaged")
        /// The store's file, its log or its shared memory was renamed, replaced or removed while the store was open.
        /// Open the store again.
        public static let moved = Code(description: "store_moved")
        /// The log or the rollback journal next to the store belongs to another store, or to another state of this
        /// store. The store is unchanged.
        public static let foreignLog = Code(description: "foreign_log")
        /// A path next to the store that belongs to it is not a regular file. The store is unchanged.
        public static let strayFile = Code(description: "stray_file")
        /// The path of the store is a symbolic link into a directory that does not exist.
        public static let danglingLink = Code(description: "dangling_link")
        /// Another process kept the store busy for longer than the budget (R42).
        public static let busy = Code(description: "busy")
        /// The server of the storage cannot be reached, lacks memory or connections, or the connection was lost. A
        /// later call may succeed.
        public static let unavailable = Code(description: "unavailable")
        /// The disk is full, or the file reached a size limit.
        public static let full = Code(description: "disk_full")
        /// The operating system failed to read or write.
        public static let inputOutput = Code(description: "io_error")
        /// The file system denied access, or the server rejected the user, the password or the write.
        public static let permission = Code(description: "permission")
        /// A statement ran for longer than its limit. A statement over a damaged store may otherwise run forever.
        public static let tookTooLong = Code(description: "took_too_long")
        /// The storage is closed.
        public static let closed = Code(description: "closed")
        /// A key or a page exceeds the size limit of the storage.
        public static let tooLarge = Code(description: "too_large")
        /// An argument contradicts the rules of the store, for example a plan with a position out of range. This is a
        /// defect of the caller.
        public static let invalidPlan = Code(description: "invalid_plan")
        /// A defect of this package.
        public static let `internal` = Code(description: "internal")
    }

    /// The code for decisions.
    public var code: Code
    /// A message of one line. It usually names the file or the server, and contains no user data.
    public var message: String
    /// The underlying error; `nil` when there was none.
    public var cause: (any Error)?

    /// An error. `message` is for people and contains no user data.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }
}

extension StorageError: CustomStringConvertible {
    /// One line: the code and the message of the error.
    public var description: String { "\(code): \(message)" }
}
