#if Tool
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A file that holds a secret, or a pipe from a program that prints one.
enum SecretFile {
    /// Bytes. A longer text is no credential.
    private static let largest = 1 << 16

    /// - Throws: `ToolFailure` with status 64 when the file does not exist or is not a short text, or 77 when it cannot
    ///   be read.
    static func text(_ path: String) throws -> String {
        let name = Printable.text(path)
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw errno == ENOENT || errno == ENOTDIR
                ? ToolFailure(
                    .usage, "usage", "there is no file \(name)", hint: "name the file that holds the credential")
                : ToolFailure(.permission, "permission", "\(name) may not be read")
        }
        defer { close(descriptor) }
        var status = stat()
        if fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o077 != 0 {
            Terminal.standard.warn("\(name) can be read by others on this machine; 'chmod 600' keeps it to yourself")
        }
        guard let bytes = read(descriptor), let text = String(validating: bytes, as: UTF8.self) else {
            throw ToolFailure(
                .usage, "usage", "\(name) is not a UTF-8 text of at most 64 KiB",
                hint: "name the file that holds the credential")
        }
        return text
    }

    /// The whole content. Returns nil when it is too long or cannot be read. The loop is needed because a pipe returns
    /// one written part at a time.
    private static func read(_ descriptor: Int32) -> [UInt8]? {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: largest)
        while bytes.count <= largest {
            let count = system(descriptor, &piece)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return count == 0 ? bytes : nil }
            bytes += piece[..<count]
        }
        return nil
    }

    private static func system(_ descriptor: Int32, _ piece: inout [UInt8]) -> Int {
        #if canImport(Glibc)
        Glibc.read(descriptor, &piece, piece.count)
        #elseif canImport(Musl)
        Musl.read(descriptor, &piece, piece.count)
        #else
        Darwin.read(descriptor, &piece, piece.count)
        #endif
    }
}
#endif
