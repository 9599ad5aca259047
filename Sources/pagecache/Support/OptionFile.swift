#if Tool
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A file that an option names, or a pipe from a program.
struct OptionFile {
    /// The option and the path, for messages.
    let name: String
    /// The whole content. `nil` when it is too long or cannot be read, as for a folder.
    let bytes: [UInt8]?
    /// Whether the permissions of the file give other users of the machine any access.
    let isOpenToOthers: Bool

    /// Reads the file.
    /// - Parameters:
    ///   - option: the option that names the file, for the error.
    ///   - content: what the file holds, for the hint of the error.
    ///   - largest: the largest size, in bytes.
    /// - Throws: `ToolFailure` with status 64 when the file does not exist, or 77 when it may not be read.
    init(_ path: String, of option: String, holding content: String, atMost largest: Int) throws {
        name = "\(option): the file '\(Printable.text(path))'"
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw errno == ENOENT || errno == ENOTDIR
                ? ToolFailure(
                    .usage, "usage", "\(option): there is no file '\(Printable.text(path))'",
                    hint: "name the file that holds \(content)")
                : ToolFailure(.permission, "permission", "\(name) may not be read")
        }
        defer { close(descriptor) }
        var status = stat()
        let isFile = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        isOpenToOthers = isFile && status.st_mode & 0o077 != 0
        bytes = OptionFile.read(descriptor, atMost: largest)
    }

    /// The loop is needed because a pipe returns one written part at a time.
    private static func read(_ descriptor: Int32, atMost largest: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
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
