import PageModel

/// Distinguishes one credential from another without revealing either (R45): 24 bits of a salted hash. Two different
/// credentials have the same check with a probability of 2^−24. About 2^(n−24) credentials of n bits have the same
/// check, so a reader of the store cannot derive a long credential from it.
struct CredentialCheck {
    private let salt: UInt64
    private let check: UInt64

    init(of credential: String) {
        salt = .random(in: 0...UInt64.max)
        check = CredentialCheck.check(credential, salt)
    }

    /// Returns nil when `text` is not the `text` of a check.
    init?(_ text: String) {
        let parts = text.split(separator: ":")
        guard parts.count == 2, let salt = UInt64(parts[0], radix: 16), let check = UInt64(parts[1], radix: 16) else {
            return nil
        }
        self.salt = salt
        self.check = check
    }

    var text: String { "\(String(salt, radix: 16)):\(String(check, radix: 16))" }

    func matches(_ credential: String) -> Bool { CredentialCheck.check(credential, salt) == check }

    private static func check(_ credential: String, _ salt: UInt64) -> UInt64 {
        XXH64.hash(credential, seed: salt) >> 40
    }
}
