#if Tool
import HTTPPageSource
import PageModel
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A transport that prints each request with `--verbose`: method, path, status, size, time, and the origin's own error
/// message. The message of an origin that refuses the first request is printed without `--verbose`, too. The transport
/// also warns once about an answer with a status of success whose body contains an error.
struct LoggedTransport: HTTPTransport {
    private let base: any HTTPTransport
    /// The id of the list in the messages. `nil` when the command has only one.
    private let name: String?
    private let terminal: Terminal
    private let hasWarned = Flag()
    /// Whether the origin has answered other than with a temporary failure; see `OriginMessage.mayPass`.
    private let hasAnswered = Flag()

    private final class Flag: Sendable {
        private let isRaised = Mutex(false)

        /// Sets the flag. Returns true if it was not set before.
        func raise() -> Bool {
            isRaised.withLock { flag in
                defer { flag = true }
                return !flag
            }
        }
    }

    init(_ base: any HTTPTransport, name: String? = nil, terminal: Terminal = .standard) {
        (self.base, self.name, self.terminal) = (base, name, terminal)
    }

    func send(_ request: HTTPPageRequest) async throws -> HTTPPageResponse {
        let started = ContinuousClock.now
        let shown = RequestText(request)
        func detail(_ result: String) {
            guard terminal.isVerbose else { return }
            let milliseconds = (ContinuousClock.now - started) / .milliseconds(1)
            terminal.detail("\(request.method) \(shown.target) → \(result), \(Int(milliseconds)) ms")
        }
        do {
            let response = try await base.send(request)
            detail("\(response.status), \(SizeText.bytes(response.body.count))")
            let isFirst = !OriginMessage.mayPass(response.status) && hasAnswered.raise()
            if let message = OriginMessage.find(in: response) {
                let line = OriginMessage.line(shown.hidingSecrets(message), status: response.status, name: name)
                if response.status >= 400 {
                    if isFirst { terminal.complain(line) } else { terminal.detail(line) }
                } else if hasWarned.raise() {
                    terminal.warn(line)
                }
            }
            return response
        } catch {
            detail((error as? FetchFailure)?.shownMessage ?? "cancelled")
            throw error
        }
    }
}

/// A request for people, without secrets (R45). Pure.
struct RequestText {
    /// The path and the parameters. A parameter that may hold a secret has "…" as its value.
    let target: String
    private let secrets: [String]

    init(_ request: HTTPPageRequest) {
        let parts = request.url.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let place = parts[0]
        let path = place.firstRange(of: "://").flatMap { place[$0.upperBound...].firstIndex(of: "/") }
        // The key of a list contains the parameters that are neither paging parameters nor known secrets. Short numbers
        // are taken for positions and sizes.
        let key = HTTPSource.key(for: request.url)?.text ?? ""
        let open = Set(key.split(separator: "?", maxSplits: 1).dropFirst().joined().split(separator: "&"))
        var secrets: [String] = []
        let parameters = parts.dropFirst().joined().split(separator: "&").map { parameter in
            let pair = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2 else { return String(parameter) }
            let isShort = pair[1].count <= 12 && pair[1].allSatisfy(\.isNumber)
            if !RequestText.isCredential(pair[0]), open.contains(parameter) || isShort { return String(parameter) }
            secrets.append(String(pair[1]))
            return "\(pair[0])=…"
        }
        target =
            (path.map { String(place[$0...]) } ?? "/")
            + (parameters.isEmpty ? "" : "?" + parameters.joined(separator: "&"))
        let ordinary = ["accept", "user-agent", "if-none-match", "if-modified-since", "range", "content-type"]
        for field in request.headers where !ordinary.contains(field.name.lowercased()) {
            secrets.append(field.value)
            secrets += field.value.split(separator: " ").map(String.init)
        }
        self.secrets = secrets.filter { $0.count >= 4 }.sorted { $0.count > $1.count }
    }

    /// The text with "…" in place of the values that the request keeps secret. Values of fewer than four characters are
    /// not replaced.
    func hidingSecrets(_ text: String) -> String {
        secrets.reduce(text) { $0.replacing($1, with: "…") }
    }

    private static func isCredential(_ name: some StringProtocol) -> Bool {
        let name = name.lowercased()
        return ["key", "token", "secret", "sig", "pass", "pwd", "auth", "code", "pin"].contains { name.contains($0) }
    }
}

/// The error message in an origin's answer. Pure.
enum OriginMessage {
    /// The largest answer, in bytes, that is searched for an error. A larger answer probably has items.
    private static let most = 1 << 14
    private static let length = 200

    /// The first 200 characters of the message. Returns nil when the answer has none.
    static func find(in response: HTTPPageResponse) -> String? {
        guard !(300..<400).contains(response.status), response.body.count <= most,
            response.body.first == UInt8(ascii: "{"),
            let part = try? JSONDecoder().decode(Part.self, from: Data(response.body))
        else { return nil }
        // A successful answer may call anything a message. Only a member that names an error counts.
        let text = response.status < 400 ? part.error : part.text
        return text.map { String(Printable.text($0).prefix(length)) }
    }

    /// The line about a message.
    /// - Parameter name: the id of the list. `nil` when the command has only one.
    static func line(_ text: String, status: Int, name: String?) -> String {
        let line = status < 400 ? "the origin answered \(status) with an error: \(text)" : "the origin says: \(text)"
        return name.map { "\($0): \(line)" } ?? line
    }

    /// Whether this status is a temporary failure, so that the same request may have another answer later.
    static func mayPass(_ status: Int) -> Bool { [408, 425, 429].contains(status) || status >= 500 }

    /// A part of an answer: a text, or an object or array that contains one.
    private struct Part: Decodable {
        /// The text of the part. `nil` when it has none.
        var text: String?
        /// The text of the member that names an error.
        var error: String?

        private struct Name: CodingKey {
            var stringValue: String
            var intValue: Int? { nil }

            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }

        init(from decoder: any Decoder) throws {
            if let text = try? decoder.singleValueContainer().decode(String.self) {
                self.text = text.isEmpty ? nil : text
            } else if let members = try? decoder.container(keyedBy: Name.self) {
                func text(_ names: String...) -> String? {
                    names.lazy.compactMap { name in
                        members.allKeys.first { $0.stringValue.lowercased() == name }.flatMap {
                            try? members.decode(Part.self, forKey: $0).text
                        }
                    }.first
                }
                error = text("error", "errors")
                self.text = text("message", "error", "error_description", "detail", "title", "errors")
            } else if var elements = try? decoder.unkeyedContainer(), !elements.isAtEnd {
                text = try? elements.decode(Part.self).text
            }
        }
    }
}
#endif
