#if PostgreSQL
import CPostgres

/// A connection string, as libpq takes it: a URI or keywords and values
/// (https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-CONNSTRING). Its description hides the string.
struct ConnectionInfo: Sendable, CustomStringConvertible {
    private let text: String
    /// The passwords in the string. No message may contain them.
    private let secrets: [String]
    /// How long the connection to one address may take: `connect_timeout`, or 5 seconds.
    private let addressLimit: Duration
    private let hosts: Int

    var description: String { "a connection string" }

    init(_ text: String) throws(PostgresError) {
        // The message of libpq can quote a part of the string, and so a password.
        var message: UnsafeMutablePointer<CChar>?
        let options = text.utf8.contains(0) ? nil : PQconninfoParse(text, &message)
        PQfreemem(message)
        guard let options else {
            throw PostgresError(.invalidConnectionString, "the connection string cannot be parsed")
        }
        defer { PQconninfoFree(options) }
        var values: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { values[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        self.text = text
        secrets = ["password", "sslpassword"].compactMap { values[$0] }.filter { !$0.isEmpty }
        let seconds = values["connect_timeout"].flatMap { Int($0) } ?? 0
        addressLimit = .seconds(seconds > 0 ? min(seconds, 3_600) : 5)
        hosts = max(1, (values["hostaddr"] ?? values["host"] ?? "").utf8.count { $0 == UInt8(ascii: ",") } + 1)
    }

    /// How long one attempt to connect may take, with all of its hosts. A host name may have two addresses.
    var attemptLimit: Duration { addressLimit * (2 * hosts) }

    /// Begins to connect. The entries before `dbname` are defaults that the connection string overrides; those behind
    /// it override the string. libpq ignores `connect_timeout` when the caller polls, but the kernel gives up an
    /// address after `tcp_user_timeout`, and libpq then tries the next one. Keepalives find a peer that disappeared.
    func start() -> OpaquePointer? {
        let milliseconds = addressLimit.components.seconds * 1_000
        let keywords: [(String, String)] = [
            ("tcp_user_timeout", String(milliseconds)), ("keepalives_idle", "15"), ("keepalives_interval", "5"),
            ("keepalives_count", "3"), ("fallback_application_name", "pagecache"), ("dbname", text),
            ("client_encoding", "UTF8"),
        ]
        return ConnectionInfo.withCStrings(keywords.map(\.0)) { names in
            ConnectionInfo.withCStrings(keywords.map(\.1)) { values in PQconnectStartParams(names, values, 1) }
        }
    }

    /// Makes a message of one line without passwords.
    func redacted(_ message: String) -> String {
        let lines = message.split(whereSeparator: \.isNewline).map { line in
            line.drop { $0 == " " || $0 == "\t" }
        }
        // Verbose messages name the line of the server's source code.
        var text = lines.filter { !$0.hasPrefix("LOCATION:") }.joined(separator: "; ")
        for secret in secrets { text = text.replacing(secret, with: "***") }
        return text
    }

    private static func withCStrings<Outcome>(
        _ strings: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> Outcome
    ) -> Outcome {
        var bytes: [CChar] = []
        var offsets: [Int] = []
        for string in strings {
            offsets.append(bytes.count)
            bytes.append(contentsOf: string.utf8.map { CChar(bitPattern: $0) })
            bytes.append(0)
        }
        return bytes.withUnsafeBufferPointer { buffer in
            let pointers = offsets.map { offset in buffer.baseAddress.map { $0 + offset } } + [nil]
            return pointers.withUnsafeBufferPointer { body($0.baseAddress) }
        }
    }
}
#endif
