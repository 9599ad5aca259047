import PageModel

/// Enough about a credential to notice another one, and not enough to find it (R45): 24 bits of a salted hash. By
/// accident another credential passes once in sixteen million times; whoever reads the store learns next to nothing
/// about a credential of any length worth having, since every value of the check fits 2^(n−24) of them.
struct CredentialCheck {
    private let salt: UInt64
    private let check: UInt64

    init(of credential: String) {
        salt = .random(in: 0...UInt64.max)
        check = CredentialCheck.check(credential, salt)
    }

    /// Nil when `text` is not what `text` once was.
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
