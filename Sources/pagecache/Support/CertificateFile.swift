#if Tool
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A file with trusted certificates, as `--cacert` and `SSL_CERT_FILE` name it.
enum CertificateFile {
    /// Returns the reason why a file cannot be used, for the end of a sentence. Returns nil when the file can be used.
    ///
    /// The TLS library accepts a file without a certificate, and then trusts no origin.
    static func problem(at path: String) -> String? {
        let files = FileManager.default
        guard files.isReadableFile(atPath: path) else { return "cannot be read" }
        // OpenSSL also takes a folder with hashed names.
        if (try? files.contentsOfDirectory(atPath: path)) != nil { return nil }
        guard let bytes = files.contents(atPath: path) else { return "cannot be read" }
        return hasCertificate(bytes) ? nil : "has no certificate in PEM form"
    }

    /// Whether the text has a block with a certificate in it (RFC 7468, section 5).
    private static func hasCertificate(_ bytes: Data) -> Bool {
        let text = String(decoding: bytes, as: UTF8.self)
        return text.matches(
            of: /-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----\s([^-]*)-----END (?:TRUSTED |X509 )?CERTIFICATE-----/
        ).contains { match in
            // A certificate is an ASN.1 sequence.
            Data(base64Encoded: match.output.1.filter { !$0.isWhitespace })?.first == 0x30
        }
    }
}
#endif
