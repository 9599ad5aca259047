#if Tool
import Foundation

/// Secrets for requests, and a search for them in other places (R45).
enum Secret {
    static let user = "S3CRETUSER0123456789"
    static let password = "S3CRETPASSWORD"
    static let key = "S3CRETPARAMETER0123456789"
    static let header = "S3CRETHEADER"

    /// Returns the same URL with a user and a password.
    static func inFront(of root: String) -> String {
        root.replacingOccurrences(of: "http://", with: "http://\(user):\(password)@")
    }

    /// The user and the password as they are sent (RFC 7617).
    static let basic = Data("\(user):\(password)".utf8).base64EncodedString()

    /// Returns the first secret in a text, or nil when there is none.
    static func found(in text: String) -> String? { [user, password, key, header, basic].first { text.contains($0) } }

    /// Returns the first secret in a file, or nil when there is none.
    static func found(in bytes: Data) -> String? {
        [user, password, key, header, basic].first { bytes.range(of: Data($0.utf8)) != nil }
    }
}
#endif
