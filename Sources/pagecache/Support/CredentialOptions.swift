#if Tool
import ArgumentParser
import HTTPPageSource

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Headers for every request, and the names of those with secret values.
struct Credential {
    var fields: [HTTPField] = []
    /// Names of headers whose values are secret, even if the names do not suggest it.
    var secretHeaders: [String] = []
}

/// The options for credentials. They name variables and files, so that no secret has to be on a command line (R45).
struct CredentialOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Send this header. Repeatable. Headers are not stored, so give them in each run. If a header selects other items, add --scope or --key for a list of its own.",
            valueName: "Name: value"))
    var header: [String] = []
    @Option(
        help: ArgumentHelp(
            "Send a header with the value of an environment variable. Repeatable.", valueName: "Name=VAR"))
    var headerEnv: [String] = []
    @Option(
        help: ArgumentHelp("Send the headers in this file: 'Name: value', one per line.", valueName: "file"),
        completion: .file())
    var headerFile: String?
    @Option(
        help: ArgumentHelp("Send 'Authorization: Bearer' with the value of this variable.", valueName: "VAR"),
        completion: .variables)
    var bearerEnv: String?
    @Option(
        help: ArgumentHelp("Send 'Authorization: Bearer' with the content of this file.", valueName: "file"),
        completion: .file())
    var bearerFile: String?

    func validate() throws {
        for field in header where !field.contains(":") {
            throw ValidationError("--header takes 'Name: value', not '\(field.prefix(20))'")
        }
        for field in headerEnv where !field.dropFirst().contains("=") || field.last == "=" || field.first == "=" {
            // The user may have written a header with its value, which may be secret.
            throw ValidationError("--header-env takes 'Name=VAR', not '\(field.prefix { $0 != ":" }.prefix(20))'")
        }
        if bearerEnv != nil, bearerFile != nil {
            throw ValidationError("--bearer-env and --bearer-file exclude each other; name one of them")
        }
        let names: [(String, Substring)] =
            header.map { ("--header", $0.prefix { $0 != ":" }) }
            + headerEnv.map { ("--header-env", $0.prefix { $0 != "=" }) }
        let other = names.first { $0.1.trimmed().lowercased() == "authorization" }?.0
        if let other, bearerEnv != nil || bearerFile != nil {
            let token = bearerEnv != nil ? "--bearer-env" : "--bearer-file"
            throw ValidationError("\(other) 'Authorization' and \(token) exclude each other; name one of them")
        }
    }

    /// Reads all headers. Each file is read once, because it may be a pipe. Prints one warning if `--header` contains a
    /// header that usually holds a secret.
    /// - Throws: `ToolFailure` with status 64 for a value that is invalid, not set or missing, and 77 for an unreadable
    ///   file.
    func read() throws -> Credential {
        var credential = Credential()
        var isSeen = false
        for line in header {
            let field = try CredentialOptions.field(line, "--header")
            isSeen = isSeen || ["authorization", "cookie", "x-api-key"].contains(field.name.lowercased())
            credential.fields.append(field)
        }
        if isSeen {
            Terminal.standard.warn(
                "other users of this machine can see a secret in --header; use --header-env or --header-file instead"
            )
        }
        for pair in headerEnv {
            let parts = pair.split(separator: "=", maxSplits: 1).map(String.init)
            let name = parts.first ?? ""
            credential.fields.append(
                try CredentialOptions.field(
                    name, try variable(parts.count > 1 ? parts[1] : "", of: "--header-env"), "--header-env"))
            // A value from a variable is always treated as a secret, whatever the name of its header (R45).
            credential.secretHeaders.append(name)
        }
        if let headerFile {
            for line in try SecretFile.text(headerFile, of: "--header-file").split(whereSeparator: \.isNewline)
            where !line.allSatisfy(\.isWhitespace) && !line.hasPrefix("#") {
                let field = try CredentialOptions.field(String(line), headerFile)
                credential.fields.append(field)
                credential.secretHeaders.append(field.name)
            }
        }
        if let token = try bearerEnv.map({ try variable($0, of: "--bearer-env") }) ?? bearerFile.map(token) {
            credential.fields.append(
                try CredentialOptions.field("Authorization", "Bearer \(token)", bearerFile ?? "--bearer-env"))
        }
        return credential
    }

    /// - Parameter place: the option or file of the line. The error names it instead of the value, which may be secret.
    private static func field(_ line: String, _ place: String) throws -> HTTPField {
        guard let colon = line.firstIndex(of: ":") else {
            throw ToolFailure(
                .usage, "usage", "\(Printable.text(place)) contains a line that is not a header",
                hint: "write 'Name: value', one per line")
        }
        return try field(line[..<colon].trimmed(), line[line.index(after: colon)...].trimmed(), place)
    }

    private static func field(_ name: String, _ value: String, _ place: String) throws -> HTTPField {
        let what = "the header '\(Printable.text(name))' of \(Printable.text(place))"
        guard !name.isEmpty, name.utf8.allSatisfy(isTokenCharacter) else {
            throw ToolFailure(
                .usage, "usage", "\(what) has an invalid name",
                hint: "a name consists of letters, digits and !#$%&'*+-.^_`|~")
        }
        // A line break in a value would start another field (RFC 9110, 5.5).
        guard !value.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) else {
            throw ToolFailure(
                .usage, "usage", "\(what) cannot be sent",
                hint: "its value contains a line break or a control character")
        }
        return HTTPField(name, value)
    }

    /// Whether a byte may be in the name of a header (RFC 9110, 5.6.2).
    private static func isTokenCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }

    private func token(_ path: String) throws -> String {
        let token = try SecretFile.text(path, of: "--bearer-file").trimmed()
        guard !token.isEmpty else {
            throw ToolFailure(
                .usage, "usage", "--bearer-file: the file '\(Printable.text(path))' is empty",
                hint: "put the token into it")
        }
        return token
    }

    private func variable(_ name: String, of option: String) throws -> String {
        let value = ProcessInfo.processInfo.environment[name]
        guard let value, !value.isEmpty else {
            throw ToolFailure(
                .usage, "usage",
                "the variable \(Printable.text(name)) of \(option) is \(value == nil ? "not set" : "empty")",
                hint: "export it first, or name another variable")
        }
        return value
    }
}

extension StringProtocol {
    fileprivate func trimmed() -> String {
        let rest = drop(while: \.isWhitespace)
        return String(
            rest.prefix(
                rest.lastIndex { !$0.isWhitespace }.map { rest.distance(from: rest.startIndex, to: $0) + 1 } ?? 0))
    }
}
#endif
