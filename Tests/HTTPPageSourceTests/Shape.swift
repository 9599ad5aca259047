#if HTTP
import Foundation
import PagedRepository
import Synchronization

@testable import HTTPPageSource

/// A recorded shape of a public API: one file in `Tests/Shapes`, with the first URL, the answers by rule, and the
/// expected result. `Tests/Shapes/README.md` describes the format.
struct Shape: Sendable {
    let file: String
    private let lines: [(name: String, value: String)]

    init(file: String, text: String) {
        self.file = file
        lines = text.split(separator: "\n").map { line in
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            return (String(parts[0]), parts.count > 1 ? String(parts[1].dropFirst()) : "")
        }
    }

    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Shapes")

    static func all() throws -> [Shape] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".shape") }.sorted()
            .map { name in
                let text = try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
                return Shape(file: String(name.dropLast(6)), text: text)
            }
    }

    func values(_ name: String) -> [String] { lines.filter { $0.name == name }.map(\.value) }
    func value(_ name: String) -> String? { values(name).first }
    func words(_ name: String) -> [String] { value(name)?.split(separator: " ").map(String.init) ?? [] }

    var title: String { value("name") ?? file }
    var url: String { value("url") ?? "" }
    /// The number of items in the list.
    var count: Int { value("list").flatMap { Int($0) } ?? 230 }
    var size: Int { words("size").first.flatMap { Int($0) } ?? 20 }

    // MARK: Expectation

    /// Whether the origin states something that is not so. Such shapes are traps, and no API is documented like that.
    var isUntrue: Bool { value("untrue") != nil }
    var outcome: String { words("expect").first ?? "" }
    var style: String { words("expect").dropFirst().first ?? "" }
    var held: Int { words("expect").dropFirst(2).first.flatMap { Int($0) } ?? count }

    /// The largest number of requests of a second synchronisation of the unchanged list. An unproven list is not
    /// searched again so soon.
    var again: Int { value("again").flatMap { Int($0) } ?? (outcome == "unproven" ? 1 : 3) }

    /// Whether these are the stored bytes of an item. The number of its answer is not compared.
    func isItem(_ number: Int, _ stored: String) -> Bool {
        let parts = filled(value("stored") ?? value("item") ?? Shape.plainItem, number)
            .components(separatedBy: Shape.answerNumber)
        return parts.count == 1 ? stored == parts[0] : stored.hasPrefix(parts[0]) && stored.hasSuffix(parts[1])
    }

    /// Stands for the number of the answer in an item: a member that changes with every answer.
    private static let answerNumber = "$answer"

    private static let plainItem = #"{"id":"i$n","name":"n$n"}"#

    // MARK: Answers

    /// The answer to a request.
    /// - Parameter number: the number of the request.
    func answer(_ url: OriginURL, _ request: HTTPPageRequest, number: Int) -> HTTPPageResponse {
        guard let own = OriginURL(self.url), [own.path, value("alias")].contains(url.path) else {
            return HTTPPageResponse(status: 404)
        }
        if let known = value("known")?.split(separator: ", ").map(String.init) {
            let allowed = known + own.parameters.map(\.plainName)
            if url.parameters.contains(where: { !allowed.contains($0.plainName) }) {
                return HTTPPageResponse(status: 400, body: Array(#"{"error":"unknown parameter"}"#.utf8))
            }
        }
        if let needed = value("needs")?.split(separator: "=", maxSplits: 1).map(String.init),
            url.value(of: needed[0]) != needed[1]
        {
            return HTTPPageResponse(status: 200, body: Array(#"{"data":[],"meta":{"total":0}}"#.utf8))
        }
        let requested = words("size").dropFirst().first.flatMap { url.value(of: $0) }.flatMap { Int($0) }
        let most = words("size").dropFirst(2).first.flatMap { Int($0) } ?? 1_000
        let size = max(min(requested ?? self.size, most), 1)
        guard let start = start(url, size) else {
            return HTTPPageResponse(status: 400, body: Array(#"{"error":"bad position"}"#.utf8))
        }
        return page(from: min(max(start, 0), count), size, answer: number)
    }

    /// The position of a request's first item. Returns nil when the position is invalid.
    private func start(_ url: OriginURL, _ size: Int) -> Int? {
        let by = words("by")
        guard by.count > 1, let text = url.value(of: by[1]), text != (by[0] == "token" ? by.dropFirst(2).first : nil)
        else { return 0 }
        switch by[0] {
        case "page": return Int(text).map { ($0 - (Int(by[2]) ?? 1)) * size }
        case "offset":
            let position = Int(text).map { $0 - (Int(by[2]) ?? 0) }
            return value("multiples") != nil && position?.isMultiple(of: size) == false ? nil : position
        case "token": return position(of: text, in: value("token") ?? "$end", at: "$end")
        case "key": return position(of: text, in: value("key") ?? "i$n", at: "$n").map { $0 + 1 }
        case _: return 0
        }
    }

    private func position(of text: String, in template: String, at mark: String) -> Int? {
        let parts = template.components(separatedBy: mark)
        guard parts.count == 2, text.hasPrefix(parts[0]), text.hasSuffix(parts[1]) else { return nil }
        return Int(text.dropFirst(parts[0].count).dropLast(parts[1].count))
    }

    private func page(from start: Int, _ size: Int, answer: Int) -> HTTPPageResponse {
        let end = min(start + size, count), isLast = end == count
        let first = words("by").count > 2 ? Int(words("by")[2]) ?? 1 : 1
        let number = start / size + first
        let separator = (value("join") ?? ",").replacing("\\n", with: "\n")
        let items = (start..<end).map { filled(value("item") ?? Shape.plainItem, $0) }.joined(separator: separator)
            .replacing(Shape.answerNumber, with: "\(answer)")
        // Longer names come first: `$end` begins `$endinclusive`.
        let variables: [(String, String)] = [
            ("$items", items), ("$startone", "\(start + 1)"), ("$start", "\(start)"),
            ("$endinclusive", "\(max(end - 1, 0))"), ("$end", "\(end)"), ("$count", "\(end - start)"),
            ("$total", "\(count)"), ("$pages", "\((count + size - 1) / size)"), ("$page", "\(number)"),
            ("$next", "\(number + 1)"), ("$rest", "\(count - end)"), ("$last", "\(end - 1)"), ("$size", "\(size)"),
            ("$left", "\(count - start)"), ("$varies", "\(count + 100 + 7 * answer)"),
        ]
        func text(_ template: String) -> String {
            var result = chosen(template, isLast: isLast)
            for (name, value) in variables { result = result.replacing(name, with: value) }
            return result
        }
        var headers = [HTTPField("Content-Type", value("type") ?? "application/json")]
        for line in values("header").map(text) where !line.isEmpty {
            let parts = line.split(separator: ":", maxSplits: 1).map(String.init)
            headers.append(HTTPField(parts[0], String(parts[1].dropFirst())))
        }
        let prefix = value("prefix").map { $0 + "\n" } ?? ""
        let status = value("status").flatMap { Int($0) } ?? 200
        return HTTPPageResponse(
            status: status, headers: headers,
            body: Array((prefix + text((start == end ? value("empty") : nil) ?? value("body") ?? "")).utf8))
    }

    /// `«more¦last»`: the first part while more items follow, the second one on the last page.
    private func chosen(_ template: String, isLast: Bool) -> String {
        var result = "", rest = template[...]
        while let open = rest.firstIndex(of: "«"), let close = rest[open...].firstIndex(of: "»") {
            result += rest[..<open]
            let parts = rest[rest.index(after: open)..<close].split(
                separator: "¦", maxSplits: 1, omittingEmptySubsequences: false)
            result += isLast ? (parts.count > 1 ? parts[1] : "") : parts[0]
            rest = rest[rest.index(after: close)...]
        }
        return result + rest
    }

    private func filled(_ template: String, _ number: Int) -> String { template.replacing("$n", with: "\(number)") }

    /// The caller's settings, as the flags of the tool name them.
    func configuration() -> HTTPSourceConfiguration {
        var configuration = HTTPSourceConfiguration(url: url)
        for word in words("says") {
            let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
            switch parts[0] {
            case "paging": configuration.paging = HTTPSourceConfiguration.Paging(rawValue: parts[1]) ?? .auto
            case "items": configuration.items = JSONPointer(parts[1])
            case "offset-param": configuration.offsetParameter = parts[1]
            case "overlap": configuration.overlap = Int(parts[1])
            case _: preconditionFailure("\(file): unknown setting \(word)")
            }
        }
        return configuration
    }
}
#endif
