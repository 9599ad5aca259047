#if HTTP
import Foundation
import PageModel
@testable import PagedRepositoryTesting
import Testing

@testable import HTTPPageSource

/// The number of fuzz cases and the first seed, from FUZZ_CASES and FUZZ_SEED. A failure names the seed of its case.
/// That seed with a single case reproduces it.
enum Fuzz {
    static let cases = number("FUZZ_CASES").map { max(Int($0), 1) } ?? 20_000
    static let seed = number("FUZZ_SEED") ?? 1

    /// Returns the seeds of a test that runs this percentage of the cases.
    static func seeds(percent: Int) -> Range<UInt64> { seed..<seed + UInt64(max(cases * percent / 100, 1)) }

    private static func number(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
    }
}

/// A generator of valid JSON texts: nested values, every kind of escape, surrogate pairs, and spaces wherever they are
/// allowed. Names are unique within their object, because the meaning of repeated names is open (RFC 8259, 4).
struct JSONGenerator {
    var random: SeededGenerator
    private var names = 0

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    mutating func text() -> String { space() + value(depth: 0) + space() }

    mutating func array() -> String { list("[", "]", depth: 0) { $0.value(depth: 1) } }

    mutating func value(depth: Int) -> String {
        switch random.number(below: depth < 5 ? 8 : 5) {
        case 0: random.pick(["true", "false", "null"])
        case 1, 2: number()
        case 3, 4: string()
        case 5, 6: list("[", "]", depth: depth) { $0.value(depth: depth + 1) }
        default: list("{", "}", depth: depth) { $0.name() + $0.space() + ":" + $0.space() + $0.value(depth: depth + 1) }
        }
    }

    mutating func number() -> String {
        var text = random.isLikely(30) ? "-" : ""
        text += random.pick(["0", "7", "10", "9007199254740993", "10000000000000000000", "123"])
        if random.isLikely(30) { text += random.pick([".0", ".5", ".000", ".25"]) }
        if random.isLikely(20) { text += random.pick(["e1", "E+2", "e-3", "e00"]) }
        return text
    }

    mutating func string() -> String {
        let pieces = [
            "a", "plain text, and more of it", "é", "漢字", "😀", #"\""#, #"\\"#, #"\/"#, #"\b"#, #"\f"#, #"\n"#, #"\r"#,
            #"\t"#,
            #"\u00e9"#, #"\uD83D\uDE00"#, #"\u0000"#, "{", "}", "[", "]", ",", ":", "\u{7F}",
        ]
        var text = ""
        for _ in 0..<random.number(below: 6) { text += random.pick(pieces) }
        return "\"\(text)\""
    }

    mutating func space() -> String { random.isLikely(70) ? "" : random.pick([" ", "\n", "\t", "\r\n", "        "]) }

    private mutating func name() -> String {
        names += 1
        return "\(string().dropLast())\(names)\""
    }

    private mutating func list(_ open: String, _ close: String, depth: Int, _ entry: (inout JSONGenerator) -> String)
        -> String
    {
        var entries: [String] = []
        for _ in 0..<random.number(below: 6) { entries.append(space() + entry(&self) + space()) }
        return open + (entries.isEmpty ? space() : entries.joined(separator: ",")) + close
    }
}

@Suite("Properties of JSON parsing", .timeLimit(.minutes(20)))
struct JSONPropertyTests {
    private func reference(_ text: [UInt8]) -> Any? {
        try? JSONSerialization.jsonObject(with: Data(text), options: [.fragmentsAllowed])
    }

    @Test("A valid text has the same value for this parser and for Foundation")
    func values() throws {
        for seed in Fuzz.seeds(percent: 20) {
            var generator = JSONGenerator(seed: seed)
            let text = Array(generator.text().utf8)
            let document = try #require(try? JSONDocument(text, depthLimit: 64), "seed \(seed)")
            let theirs = try #require(reference(text), "seed \(seed)")
            let isTheSame = isSame(document, document.root, theirs)
            #expect(isTheSame, "seed \(seed)")
        }
    }

    private func isSame(_ document: JSONDocument, _ value: JSONValue, _ theirs: Any) -> Bool {
        switch document.kind(of: value) {
        case .null: return theirs is NSNull
        case .boolean: return document.boolean(value) == theirs as? Bool
        case .number: return document.scalarText(value).flatMap { Double($0) }.map { isClose($0, theirs) } ?? false
        case .string: return document.string(value).map { Array($0.utf8) } == (theirs as? String).map { Array($0.utf8) }
        case .array:
            let (elements, others) = (document.elements(of: value), theirs as? [Any] ?? [])
            return theirs is [Any] && elements.count == others.count
                && zip(elements, others).allSatisfy { isSame(document, $0, $1) }
        case .object:
            let (members, others) = (document.members(of: value), theirs as? [String: Any] ?? [:])
            return theirs is [String: Any] && members.count == others.count
                && members.allSatisfy { name, member in
                    document.member(name, of: value) == member
                        && others[name].map { isSame(document, member, $0) } ?? false
                }
        }
    }

    /// Foundation parses long numbers through `Decimal`, which may add a rounding step.
    private func isClose(_ number: Double, _ theirs: Any) -> Bool {
        (theirs as? NSNumber).map { abs($0.doubleValue - number) <= abs(number) * 1e-15 } ?? false
    }

    @Test("This parser and Foundation agree on damaged texts, apart from the known differences")
    func verdicts() {
        var taken = 0
        for seed in Fuzz.seeds(percent: 30) {
            var generator = JSONGenerator(seed: seed)
            let text = damaged(Array(generator.text().utf8), &generator.random)
            let ours = try? JSONDocument(text, depthLimit: 512)
            taken += ours == nil ? 0 : 1
            let isExplained = isExplained(text, ours, isTaken: reference(text) != nil)
            #expect(isExplained, "seed \(seed): \(String(decoding: text, as: UTF8.self))")
        }
        // Some texts must be accepted and some refused. Otherwise the comparison shows nothing.
        if Fuzz.cases >= 1_000 { #expect(taken > 50 && taken < Fuzz.cases * 30 / 100 - 50) }
    }

    /// Returns whether the parsers agree or differ in a known way. Only Foundation accepts a comma after the last
    /// entry, and texts in UTF-16 or UTF-32, which contain NUL bytes. Only this parser accepts escaped lone surrogates
    /// and numbers beyond the range of `Double`. Both are in the grammar, and are kept as they are (R7).
    private func isExplained(_ text: [UInt8], _ ours: JSONDocument?, isTaken: Bool) -> Bool {
        guard let ours else {
            return !isTaken || text.contains(0) || (try? JSONDocument(withoutLastCommas(text), depthLimit: 512)) != nil
        }
        return isTaken || holdsWhatFoundationRefuses(ours, ours.root)
    }

    private func holdsWhatFoundationRefuses(_ document: JSONDocument, _ value: JSONValue) -> Bool {
        switch document.kind(of: value) {
        case .string: document.identifier(value) == nil
        case .number: document.scalarText(value).flatMap { Double($0) }.map { !$0.isFinite } ?? true
        case .array: document.elements(of: value).contains { holdsWhatFoundationRefuses(document, $0) }
        case .object:
            document.members(of: value).contains {
                $0.name.contains("\u{FFFD}") || holdsWhatFoundationRefuses(document, $0.value)
            }
        case .boolean, .null: false
        }
    }

    /// Returns the text without commas before a closing bracket. Strings stay unchanged.
    private func withoutLastCommas(_ text: [UInt8]) -> [UInt8] {
        var (kept, comma, isInString, isEscaped): ([UInt8], Int?, Bool, Bool) = ([], nil, false, false)
        for byte in text {
            if isInString {
                (isInString, isEscaped) = (
                    isEscaped || byte != UInt8(ascii: "\""), !isEscaped && byte == UInt8(ascii: "\\")
                )
            } else if byte == UInt8(ascii: "]") || byte == UInt8(ascii: "}") {
                if let comma { kept.remove(at: comma) }
                comma = nil
            } else if byte == UInt8(ascii: ",") {
                comma = kept.count
            } else if byte > 0x20 {
                comma = nil
                isInString = byte == UInt8(ascii: "\"")
            }
            kept.append(byte)
        }
        return kept
    }

    @Test("The parts of a split array, joined, are the original text, and each part is valid on its own (R7)")
    func splitting() throws {
        for seed in Fuzz.seeds(percent: 10) {
            var generator = JSONGenerator(seed: seed)
            let text = Array((generator.space() + generator.array() + generator.space()).utf8)
            let document = try JSONDocument(text, depthLimit: 64)
            let elements = document.elements(of: document.root)
            let content = try JSONItems.split(text)
            var joined: [UInt8] = []
            var position = document.root.start + 1
            for (index, element) in elements.enumerated() {
                let between = text[position..<element.start].filter { $0 > 0x20 }
                #expect(between == (index == 0 ? [] : [UInt8(ascii: ",")]), "seed \(seed)")
                joined += text[position..<element.start] + content.payload(at: index)
                position = element.end
                let alone = try JSONDocument(Array(document.raw(element)), depthLimit: 64)
                #expect(alone.root == JSONValue(start: 0, end: element.end - element.start), "seed \(seed)")
            }
            #expect(text[position..<document.root.end].filter { $0 > 0x20 } == [UInt8(ascii: "]")], "seed \(seed)")
            #expect(Array(text[..<(document.root.start + 1)]) + joined + text[position...] == text, "seed \(seed)")
        }
    }

    @Test("A truncated text is never accepted")
    func prefixes() {
        for seed in Fuzz.seeds(percent: 1) {
            var generator = JSONGenerator(seed: seed)
            let text = Array(generator.array().utf8)
            for length in 0..<text.count where (try? JSONDocument(Array(text.prefix(length)), depthLimit: 64)) != nil {
                Issue.record("seed \(seed): \(length) of \(text.count) bytes are accepted")
            }
        }
    }
}

/// Returns the text with one to four random changes, insertions, deletions or repetitions.
func damaged(_ text: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
    var text = text
    let likely =
        Array("{}[]\",:\\u0eE+-.1dD89tfn \t\n/".utf8) + [0x00, 0x1F, 0x7F, 0x80, 0xBF, 0xC3, 0xE2, 0xED, 0xF0, 0xFF]
    for _ in 0..<random.number(in: 1...4) where !text.isEmpty {
        let place = random.number(below: text.count)
        let byte = random.isLikely(70) ? random.pick(likely) : UInt8(random.number(below: 256))
        switch random.number(below: 4) {
        case 0: text[place] = byte
        case 1: text.insert(byte, at: place)
        case 2: text.remove(at: place)
        default: text.insert(contentsOf: text[place..<min(text.count, place + random.number(in: 1...8))], at: place)
        }
    }
    return text
}
#endif
