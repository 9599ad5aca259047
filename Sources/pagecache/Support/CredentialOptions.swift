#if Tool
import ArgumentParser
import Foundation
import HTTPPageSource

/// What somebody proves itself with to an origin: by the names of variables, so that no secret is in a command line (R45).
struct CredentialOptions: ParsableArguments {
    @Option(help: ArgumentHelp("A header to send; repeatable.", valueName: "Name: value"))
    var header: [String] = []
    @Option(help: ArgumentHelp("A header whose value is in an environment variable; repeatable.", valueName: "Name=VAR"))
    var headerEnv: [String] = []
    @Option(help: ArgumentHelp("Send 'Authorization: Bearer' with the value of this variable.", valueName: "VAR"))
    var bearerEnv: String?

    func validate() throws {
        for field in header where !field.contains(":") { throw ValidationError("--header takes 'Name: value', not '\(field.prefix(20))'") }
        for field in headerEnv where !field.contains("=") { throw ValidationError("--header-env takes 'Name=VAR'") }
    }

    /// Who keeps a value out of sight means it to be a secret, whatever the header is called (R45).
    var secretHeaders: [String] { headerEnv.compactMap { $0.split(separator: "=", maxSplits: 1).first.map(String.init) } }

    /// The header fields to send; warns of secrets that others can see.
    func fields() throws -> [HTTPField] {
        var fields = try header.map { field in
            let parts = field.split(separator: ":", maxSplits: 1)
            let name = parts[0].trimmingCharacters(in: .whitespaces)
            if ["authorization", "cookie", "x-api-key"].contains(name.lowercased()) {
                Terminal.standard.warn("a secret in --header can be seen by others on this machine; --header-env keeps it out of sight")
            }
            return try self.field(name, parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : "")
        }
        for field in headerEnv {
            let parts = field.split(separator: "=", maxSplits: 1).map(String.init)
            fields.append(try self.field(parts[0], try variable(parts.count > 1 ? parts[1] : "")))
        }
        if let bearerEnv { fields.append(try field("Authorization", "Bearer \(try variable(bearerEnv))")) }
        return fields
    }

    private func field(_ name: String, _ value: String) throws -> HTTPField {
        // RFC 9110, 5.5: a line break in a value would begin another field.
        guard !name.isEmpty, !(name + value).unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) else {
            throw ToolFailure(.usage, "usage", "the header '\(Printable.text(name))' cannot be sent")
        }
        return HTTPField(name, value)
    }

    private func variable(_ name: String) throws -> String {
        guard let value = ProcessInfo.processInfo.environment[name], !value.isEmpty else {
            throw ToolFailure(.usage, "usage", "the variable \(name) is not set")
        }
        return value
    }
}
#endif
