#if Tool
import Foundation

/// Words that go where secrets go, and are found again wherever else they turn up (R45).
enum Secret {
    static let user = "S3CRETUSER0123456789"
    static let password = "S3CRETPASSWORD"
    static let key = "S3CRETPARAMETER0123456789"
    static let header = "S3CRETHEADER"

    /// The same URL with a user and a password in it.
    static func inFront(of root: String) -> String {
        root.replacingOccurrences(of: "http://", with: "http://\(user):\(password)@")
    }

    /// How the user and the password travel (RFC 7617).
    static let basic = Data("\(user):\(password)".utf8).base64EncodedString()

    /// The first secret in a text; nil when there is none.
    static func found(in text: String) -> String? { [user, password, key, header, basic].first { text.contains($0) } }

    /// The first secret in a file; nil when there is none.
    static func found(in bytes: Data) -> String? {
        [user, password, key, header, basic].first { bytes.range(of: Data($0.utf8)) != nil }
    }
}
#endif
