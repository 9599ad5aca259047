/// Why a store could not do what it was asked: a code to decide by, a message for people, and what was underneath.
public struct StorageError: Error, Sendable {
    /// Closed inside, open outside: compare with the constants, and expect more of them.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The word for it, which is printed and does not change.
        public let description: String

        /// There is no store at that place.
        public static let notFound = Code(description: "not_found")
        /// The store or its directory cannot be made.
        public static let cannotCreate = Code(description: "cannot_create")
        /// The file is not a store, or not one of ours. It was not touched.
        public static let notAStore = Code(description: "not_a_store")
        /// The store was made by a newer version. It was not touched.
        public static let newerSchema = Code(description: "newer_schema")
        /// The bytes of the store are damaged.
        public static let damaged = Code(description: "damaged")
        /// The store's file was renamed, replaced or removed while it was open. Open the store again.
        public static let moved = Code(description: "store_moved")
        /// The log beside the store belongs to a store that was at this place before. It was not read.
        public static let foreignLog = Code(description: "foreign_log")
        /// Another process kept the store busy for longer than the budget (R42).
        public static let busy = Code(description: "busy")
        /// The disk, or a limit on the file's size, is full.
        public static let full = Code(description: "disk_full")
        /// Reading or writing failed underneath.
        public static let inputOutput = Code(description: "io_error")
        /// The file system does not let us.
        public static let permission = Code(description: "permission")
        /// A statement computed for longer than its limit, as one over a damaged store may do for ever.
        public static let tookTooLong = Code(description: "took_too_long")
        /// The storage has been closed.
        public static let closed = Code(description: "closed")
        /// A key or a page is larger than a storage takes.
        public static let tooLarge = Code(description: "too_large")
        /// The plan contradicts the rules of the store; a defect of the caller.
        public static let invalidPlan = Code(description: "invalid_plan")
        /// A defect of ours.
        public static let `internal` = Code(description: "internal")
    }

    /// What to decide by.
    public var code: Code
    /// One line; names the file, never user data.
    public var message: String
    /// What was underneath; nil where nothing was.
    public var cause: (any Error)?

    /// An error; `message` is for people, and names no user data.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }
}
