import Crypto
import Foundation
import PagedRepository

// snippet: sealed
/// A codec that encrypts the payloads of another codec with AES-GCM.
///
/// Equal items must have equal bytes, so the nonce is derived from the item. The file then shows which items are equal,
/// and nothing else of them.
struct SealedCodec<Value: Sendable>: ItemCodec {
    let inner: any ItemCodec<Value>
    private let key: SymmetricKey
    private let nonceKey: SymmetricKey

    init(_ inner: any ItemCodec<Value>, secret: SymmetricKey) {
        self.inner = inner
        key = HKDF<SHA256>.deriveKey(inputKeyMaterial: secret, info: Data("items".utf8), outputByteCount: 32)
        nonceKey = HKDF<SHA256>.deriveKey(inputKeyMaterial: secret, info: Data("nonces".utf8), outputByteCount: 32)
    }

    var name: String { "aes-gcm/1 \(inner.name)" }
    var undecodable: UndecodableItems<Value> { inner.undecodable }

    func encode(_ value: Value) throws -> [UInt8] {
        let plain = try inner.encode(value)
        let code = HMAC<SHA256>.authenticationCode(for: plain, using: nonceKey)
        let box = try AES.GCM.seal(plain, using: key, nonce: AES.GCM.Nonce(data: Data(code).prefix(12)))
        // The combined form exists for every nonce of 12 bytes.
        return Array(box.nonce) + Array(box.ciphertext) + Array(box.tag)
    }

    func decode(_ bytes: ArraySlice<UInt8>) throws -> Value {
        try inner.decode(Array(try AES.GCM.open(AES.GCM.SealedBox(combined: Data(bytes)), using: key))[...])
    }
}
// end
