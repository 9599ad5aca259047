#if Tool
/// A file that holds a secret, or a pipe from a program that prints one.
enum SecretFile {
    /// The largest size of a credential, in bytes.
    private static let largest = 1 << 16
    private static let content = "the credential"

    /// - Parameter option: the option that names the file, for the error.
    /// - Throws: `ToolFailure` with status 64 when the file does not exist or is not a short text, or 77 when it cannot
    ///   be read.
    static func text(_ path: String, of option: String) throws -> String {
        let file = try OptionFile(path, of: option, holding: content, atMost: largest)
        if file.isOpenToOthers {
            Terminal.standard.warn(
                "\(file.name) can be read by others on this machine; 'chmod 600' keeps it to yourself")
        }
        guard let bytes = file.bytes, let text = String(validating: bytes, as: UTF8.self) else {
            throw ToolFailure(
                .usage, "usage", "\(file.name) is not a UTF-8 text of at most 64 KiB",
                hint: "name the file that holds \(content)")
        }
        return text
    }
}
#endif
