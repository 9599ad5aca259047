#if PostgreSQL
import PageModel

extension StorageError {
    /// Makes the error of a store from an error of the server or of its connection.
    /// - Parameter place: the display name of the store, without a password.
    init(_ error: PostgresError, at place: String) {
        let code: Code =
            switch error.code {
            case .unavailable, .unknownOutcome, .cancelled: .unavailable
            case .deadline, .conflict, .standbyMissing: .busy
            case .authentication, .permission, .readOnly: .permission
            case .noSuchDatabase: .notFound
            case .invalidConnectionString: .cannotCreate
            case .full: .full
            case .closed: .closed
            case .protocolViolation: .inputOutput
            case .invalidValue: .internal
            case .server: StorageError.code(sqlstate: error.sqlstate ?? "")
            }
        let doubt = error.isOutcomeUnknown ? "; whether it was committed is unknown" : ""
        self.init(code, "\(place): \(error.message)\(doubt)", cause: error)
    }

    /// Returns the code for a SQLSTATE (https://www.postgresql.org/docs/15/errcodes-appendix.html).
    private static func code(sqlstate: String) -> Code {
        switch sqlstate {
        // A limit of the server for statements or locks, not one of this store.
        case "57014", "55P03": .busy
        case "25P03": .unavailable
        // A duplicate key: sound rows cause none.
        case "23505": .damaged
        case "42P01", "3F000", "42703": .notAStore
        // temp_file_limit: the size limit of the files of one statement.
        case "53400": .full
        case "54000", "54001", "22001": .tooLarge
        case let state where state.hasPrefix("XX"): .damaged
        case let state where state.hasPrefix("58"): .inputOutput
        // Class 53 without the codes above: the server has too little memory or another resource.
        case let state where ["08", "53", "57"].contains(state.prefix(2)): .unavailable
        default: .internal
        }
    }
}
#endif
