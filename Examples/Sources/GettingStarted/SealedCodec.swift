import Crypto
import Foundation
import PagedRepository

// snippet: sealed
/// A codec that encrypts the payloads of another codec with AES-GCM.
///
/// Equal items must have equal bytes, so the nonce is derived from the item. The file then shows the length of
/// each item and which items are equal, and no other part of their content.
struct SealedCodec<Value: Sendable>: ItemCodec {
    let inner: any ItemCodec<Value>
    /// 32 random bytes, which the program keeps outside of the store.
    let secret: Data

    init(_ inner: any ItemCodec<Value>, secret: Data) {
        self.inner = inner
        self.secret = secret
    }

    private func key(for purpose: String) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: secret), info: Data(purpose.utf8), outputByteCount: 32)
    }

    var name: String { "aes-gcm/1 \(inner.name)" }
    var undecodable: UndecodableItems<Value> { inner.undecodable }

    func encode(_ value: Value) throws -> [UInt8] {
        let plain = try inner.encode(value)
        let code = HMAC<SHA256>.authenticationCode(for: plain, using: key(for: "nonces"))
        let box = try AES.GCM.seal(
            plain, using: key(for: "items"), nonce: AES.GCM.Nonce(data: Data(code).prefix(12)))
        // The combined form exists for every nonce of 12 bytes.
        return Array(box.nonce) + Array(box.ciphertext) + Array(box.tag)
    }

    func decode(_ bytes: ArraySlice<UInt8>) throws -> Value {
        let box = try AES.GCM.SealedBox(combined: Data(bytes))
        return try inner.decode(Array(try AES.GCM.open(box, using: key(for: "items")))[...])
    }
}
// end
