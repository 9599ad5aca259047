#if PostgreSQL
import CPostgres

/// A connection string in the form that libpq accepts: a URI, or keywords and values
/// (https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-CONNSTRING). Its `description` does not contain the
/// string.
struct ConnectionInfo: Sendable, CustomStringConvertible {
    private let text: String
    /// The passwords in the string. No message may contain them.
    private let secrets: [String]
    /// The time limit for the connection to one address: `connect_timeout`, at most an hour. Without that keyword the
    /// limit is 5 seconds, or 2 seconds if the string has several targets.
    private let addressLimit: Duration
    /// Whether the string has a `tcp_user_timeout` of its own, which then applies to sessions, too.
    private let limitsSessions: Bool
    /// The keywords that select each host of the string, in its order. Has one empty entry if the string names one
    /// host.
    private let targets: [[(String, String)]]

    var description: String { "a connection string" }

    init(_ text: String) throws(PostgresError) {
        // The message of libpq is dropped, because it can quote a part of the string, including a password.
        var message: UnsafeMutablePointer<CChar>?
        let options = text.utf8.contains(0) ? nil : PQconninfoParse(text, &message)
        PQfreemem(message)
        guard let options else {
            throw PostgresError(.invalidConnectionString, "the address is not a valid connection string of libpq")
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
        targets = ConnectionInfo.targets(values)
        limitsSessions = values["tcp_user_timeout"] != nil
        addressLimit = .seconds(seconds > 0 ? min(seconds, 3_600) : targets.count > 1 ? 2 : 5)
    }

    /// Returns the keywords for each host. For `prefer-standby`, returns each host as a standby first, and then each
    /// host in any role.
    private static func targets(_ values: [String: String]) -> [[(String, String)]] {
        func list(_ keyword: String) -> [String] {
            (values[keyword] ?? "").split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        let (hosts, addresses, ports) = (list("host"), list("hostaddr"), list("port"))
        let count = max(hosts.count, addresses.count)
        // If the number of ports does not match that of the hosts, libpq reports the error.
        guard count > 1, ports.count <= 1 || ports.count == count else { return [[]] }
        let each = (0..<count).map { index in
            [("host", hosts), ("hostaddr", addresses), ("port", ports)].compactMap { keyword, entries in
                entries.isEmpty ? nil : (keyword, entries.count == 1 ? entries[0] : entries[index])
            }
        }
        guard values["target_session_attrs"] == "prefer-standby" else { return each }
        return each.map { $0 + [("target_session_attrs", "standby")] }
            + each.map { $0 + [("target_session_attrs", "any")] }
    }

    /// The number of hosts to try one after the other.
    var targetCount: Int { targets.count }

    /// The time limit for the connection to one target. It is twice `addressLimit` for a single target, because its
    /// host name may have two addresses.
    var attemptLimit: Duration { targets.count > 1 ? addressLimit : addressLimit * 2 }

    /// The longest time for which the server may accept no further bytes from a session. `nil` means that the string
    /// has its own limit.
    ///
    /// A server accepts no bytes while a statement runs and its buffer is full. The limit for an address would then end
    /// the session of a large commit that was sent after a slow statement.
    var sessionLimit: Duration? { limitsSessions ? nil : max(addressLimit, .seconds(10)) }

    /// Begins to connect to one host. The entries before `dbname` are defaults that the connection string overrides;
    /// those after it override the string. libpq ignores `connect_timeout` when the caller polls, and would wait
    /// forever for a host that accepts the connection and sends nothing. The caller therefore tries the hosts one by
    /// one, each with a time limit. The kernel gives up an address after `tcp_user_timeout`. Keepalives find a peer
    /// that disappeared.
    func start(target: Int) -> OpaquePointer? {
        let milliseconds = addressLimit.components.seconds * 1_000
        let keywords: [(String, String)] =
            [
                ("tcp_user_timeout", String(milliseconds)), ("keepalives_idle", "15"), ("keepalives_interval", "5"),
                ("keepalives_count", "3"), ("fallback_application_name", "pagecache"), ("dbname", text),
                ("client_encoding", "UTF8"),
            ] + targets[target]
        return ConnectionInfo.withCStrings(keywords.map(\.0)) { names in
            ConnectionInfo.withCStrings(keywords.map(\.1)) { values in PQconnectStartParams(names, values, 1) }
        }
    }

    /// Returns the message on one line, without the passwords of the string.
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
