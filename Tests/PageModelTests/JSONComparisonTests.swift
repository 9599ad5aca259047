import Testing

@testable import PageModel

private func isSame(_ one: String, _ other: String) -> Bool {
    Array(one.utf8).withUnsafeBytes { one in
        Array(other.utf8).withUnsafeBytes { JSONComparison.areEqual(one, $0) }
    }
}

private func key(_ text: String, _ id: String? = nil, _ type: IDType = .string) -> UInt64 {
    PageContent([RawItem(payload: Array(text.utf8), id: id, idType: type)]).identities[0].key
}

@Suite("Comparison of payloads as JSON")
struct JSONComparisonTests {
    @Test(
        "Payloads are the same JSON whatever the member order, white space and escapes",
        arguments: [
            (#"{"a":1,"b":2}"#, #"{"b":2,"a":1}"#),
            (#"{"a":1,"b":[1,{"x":null,"y":true}]}"#, #"{"b":[1,{"y":true,"x":null}],"a":1}"#),
            (#"{"a":1}"#, " { \"a\" :\t1\r\n} "), (#"["caf\u00e9","\/"]"#, #"["café","/"]"#),
            (#""\ud83e\udd86\n""#, #""🦆\u000A""#), (#"{"\u0061":1}"#, #"{"a":1}"#), ("{}", "{ }"), ("[]", "[ ]"),
            (#"["\ud800"]"#, #"["\uD800"]"#), (#"{"a":1,"b":0,"a":2}"#, #"{"a":1,"a":2,"b":0}"#),
            (#"{"n":-0.0e+7}"#, #"{"n" :-0.0e+7}"#), (#"{"":{}}"#, #"{"" : {} }"#),
        ])
    func same(one: String, other: String) {
        #expect(isSame(one, other))
        #expect(isSame(other, one))
        #expect(key(one) == key(other))
    }

    @Test(
        "Payloads differ when a value, the order of an array or the spelling of a number differs",
        arguments: [
            (#"{"a":1}"#, #"{"a":2}"#), (#"{"a":1}"#, #"{"a":1.0}"#), (#"{"a":1}"#, #"{"a":"1"}"#), ("[1,2]", "[2,1]"),
            (#"{"a":1}"#, #"{"b":1}"#), (#"{"a":1,"b":2}"#, #"{"a":2,"b":1}"#), (#"{"a":{}}"#, #"{"a":[]}"#),
            (#"{"a":1e2}"#, #"{"a":1E2}"#), (#"{"a":true}"#, #"{"a":false}"#), (#"{"a":null}"#, "{}"),
            (#"{"a":1}"#, #"{"a":1,"b":1}"#), (#""a""#, #""b""#), ("[[],[]]", "[[[]]]"),
            (#"["\ud800"]"#, #"["\ud801"]"#),
            (#"{"a":"é"}"#, #"{"a":"e\u0301"}"#), (#"["12"]"#, "[12]"), ("[1]", "[1,1]"),
        ])
    func different(one: String, other: String) {
        #expect(!isSame(one, other))
        #expect(!isSame(other, one))
        #expect(key(one) != key(other))
    }

    @Test("Values of a repeated member name are compared in their order")
    func repeated() {
        #expect(!isSame(#"{"a":1,"a":2}"#, #"{"a":2,"a":1}"#))
        #expect(isSame(#"{"a":1,"a":2}"#, #"{ "a":1, "a":2 }"#))
    }

    @Test(
        "Payloads that are not JSON, and scalars with a single spelling, are compared by their bytes",
        arguments: [
            "", " ", "1", "true", "null", "{", "[1,]", #"{"a":1,}"#, #"{"a" 1}"#, "{a:1}", #"["\x"]"#, #"["\u12g4"]"#,
            "[01]", "[1.]", "[.5]", "[-]", "[1e]", "[tru]", "[1]x", "\"a", "[\"a\u{1}b\"]", "{\"a\":1}{}", "[1 2]", "]",
        ])
    func notJSON(text: String) {
        #expect(!isSame(text, text))
        #expect(key(text) == PageContent([RawItem(payload: Array(text.utf8))]).identities[0].content)
    }

    @Test(
        "Bytes that are not UTF-8 are not JSON",
        arguments: [
            [0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82], [0xf0, 0x8f, 0xbf, 0xbf],
        ] as [[UInt8]])
    func notUTF8(bytes: [UInt8]) {
        let payload = Array("[\"".utf8) + bytes + Array("\"]".utf8)
        #expect(!payload.withUnsafeBytes { JSONComparison.areEqual($0, $0) })
    }

    @Test("The comparison accepts 64 levels of nesting, and rejects 65 and a million without a stack overflow")
    func depth() {
        func nested(_ levels: Int, _ space: String = "") -> String {
            String(repeating: "[", count: levels) + space + String(repeating: "]", count: levels)
        }
        #expect(isSame(nested(64), nested(64, " ")))
        #expect(!isSame(nested(65), nested(65, " ")))
        #expect(!isSame(String(repeating: "[", count: 1_000_000), String(repeating: "[", count: 1_000_000)))
    }

    @Test("Objects with more than 65,536 members count as different")
    func large() {
        func object(_ members: Range<Int>, _ space: String = "") -> String {
            "{" + members.map { "\"\($0)\":\(space)0" }.joined(separator: ",") + "}"
        }
        #expect(isSame(object(0..<65_536), object(0..<65_536, " ")))
        #expect(!isSame(object(0..<65_537), object(0..<65_537, " ")))
    }

    @Test(
        "Any value is the same as itself in another spelling, and differs once one scalar is changed",
        arguments: 0..<200 as Range<UInt64>)
    func property(seed: UInt64) {
        var random = SeededRandom(state: seed)
        let value = Value.random(&random, levels: 4)
        let (one, other) = (value.written(&random), value.written(&random))
        #expect(isSame(one, other), "\(one) \(other)")
        #expect(key(one) == key(other))
        let changed = value.changed(&random)
        #expect(!isSame(one, changed.written(&random)), "\(one)")
    }

    @Test("The comparison survives every truncated text and every changed byte")
    func mutilated() {
        let text = Array(#" {"a\u00e9\\":[1.5e-3,{"b":"\ud83e\udd86"},null], "c":"é" } "#.utf8)
        for cut in 0...text.count {
            text[..<cut].withUnsafeBytes { cut in text.withUnsafeBytes { _ = JSONComparison.areEqual(cut, $0) } }
        }
        for index in text.indices {
            for byte in [0, 0x22, 0x5c, 0x7d, 0xe9, 0xff] as [UInt8] {
                var other = text
                other[index] = byte
                other.withUnsafeBytes { other in text.withUnsafeBytes { _ = JSONComparison.areEqual(other, $0) } }
            }
        }
    }

    @Test("JSONString returns the unescaped text between the quotes of a JSON string")
    func strings() {
        #expect(JSONString.text(of: #""0""#) == "0")
        #expect(JSONString.text(of: #""\u00e9\"""#) == "é\"")
        for text in ["0", "", "\"", #""a" "#, #""a"b"#, #""\ud800""#, "{}"] {
            #expect(JSONString.text(of: text) == nil)
        }
    }
}

@Suite("Items with the same content in different bytes")
struct SameItemsTests {
    private func page(_ items: [(String, String?)]) -> PageContent {
        PageContent(items.map { RawItem(payload: Array($0.0.utf8), id: $0.1) })
    }

    @Test("A page keeps the stored bytes of equal items; changed, new and non-JSON items keep the sent bytes")
    func keeping() {
        let stored = page([(#"{"id":"a","v":1}"#, "a"), (#"{"id":"b","v":1}"#, "b"), ("raw 1", "c")])
        let sent = page([
            (#"{"v":1,"id":"n"}"#, "n"), (#"{"v":2,"id":"b"}"#, "b"), (#"{"v":1,"id":"a"}"#, "a"), ("raw  1", "c"),
        ])
        let kept = sent.keepingBytes(of: [stored])
        #expect(
            kept
                == page([
                    (#"{"v":1,"id":"n"}"#, "n"), (#"{"v":2,"id":"b"}"#, "b"), (#"{"id":"a","v":1}"#, "a"),
                    ("raw  1", "c"),
                ]))
        #expect(kept.identities.map(\.key) == sent.identities.map(\.key))
    }

    @Test("Items without ids are the same whatever the order of their members and the page that holds them")
    func withoutIDs() {
        let stored = page([(#"{"x":1,"y":2}"#, nil), ("plain", nil)])
        let sent = page([("plain", nil), (#"{"y":2,"x":1}"#, nil)])
        #expect(Set(stored.identities.map(\.key)) == Set(sent.identities.map(\.key)))
        #expect(sent.keepingBytes(of: [stored]).slice(1..<2) == stored.slice(0..<1))
        #expect(!sent.isSame(as: stored))
        #expect(sent.slice(1..<2).isSame(as: stored.slice(0..<1)))
        var joined = PageContent()
        joined.append(contentsOf: stored)
        #expect(joined.identities == stored.identities)
    }

    @Test("The number 0 and the string \"0\" are different ids as keys, in a page and in a journal's items")
    func types() {
        #expect(ItemIdentity.key(ofID: "0") == ItemIdentity.key(ofID: "0", type: .string))
        #expect(ItemIdentity.key(ofID: "0") != ItemIdentity.key(ofID: "0", type: .number))
        let (number, string) = (RawItem(payload: [], id: "0", idType: .number), RawItem(payload: [], id: "0"))
        #expect(number != string)
        let both = PageContent([number, string, RawItem(payload: [])])
        #expect(both.ids.map { $0 } == ["0", "0", nil])
        #expect(both.ids.type(at: 0) == .number)
        #expect(both.ids.type(at: 1) == .string)
        #expect(both.ids.type(at: 2) == nil)
        #expect(both.slice(0..<1).ids != both.slice(1..<2).ids)
        #expect(both.slice(1..<2).ids == ["0"])
        #expect(both.items == [number, string, RawItem(payload: [])])
        #expect(Set(both.identities.map(\.key)).count == 3)
        #expect(both.identities[0].key == ItemIdentity.key(ofID: "0", type: .number))
        #expect(!both.slice(0..<1).isSame(as: both.slice(1..<2)))
    }
}

/// A JSON value that can be written with different spellings.
private indirect enum Value {
    case word(String)
    case string(String)
    case array([Value])
    case object([(String, Value)])

    static func random(_ chance: inout SeededRandom, levels: Int) -> Value {
        switch chance.next(levels > 0 ? 5 : 2) {
        case 0: .word(["1", "1.0", "-2e9", "true", "false", "null"][chance.next(6)])
        case 1: .string(["", "a", "é", "a/b\"\\\n", "🦆", "1"][chance.next(6)])
        case 2: .array((0..<chance.next(4)).map { _ in random(&chance, levels: levels - 1) })
        default:
            .object(["n", "é", "", "\"", "name"][..<chance.next(6)].map { ($0, random(&chance, levels: levels - 1)) })
        }
    }

    /// Returns the value with one more member or element, or with another scalar.
    func changed(_ chance: inout SeededRandom) -> Value {
        switch self {
        case .word: .string("other")
        case .string(let text): .string(text + "!")
        case .array(let list): .array(list + [.word("0")])
        case .object(var members):
            if members.isEmpty || chance.next(2) == 0 {
                .object(members + [("new", .word("null"))])
            } else {
                {
                    let index = chance.next(members.count)
                    members[index].1 = members[index].1.changed(&chance)
                    return .object(members)
                }()
            }
        }
    }

    func written(_ chance: inout SeededRandom) -> String {
        func space() -> String { ["", "", " ", "\n\t"][chance.next(4)] }
        func quoted(_ text: String) -> String {
            var quoted = "\""
            for unit in text.utf16 {
                let hexadecimal = String(unit, radix: 16)
                let escape = "\\u" + String(repeating: "0", count: 4 - hexadecimal.count) + hexadecimal
                let isPlain = unit < 0x80 && unit >= 0x20 && unit != 0x22 && unit != 0x5c
                quoted += isPlain && chance.next(3) > 0 ? String(UnicodeScalar(UInt8(unit))) : escape
            }
            return quoted + "\""
        }
        switch self {
        case .word(let text): return "[\(space())\(text)\(space())]"
        case .string(let text):
            return chance.next(2) == 0 || text.contains { $0 < " " || $0 == "\"" || $0 == "\\" }
                ? quoted(text) : "\"\(text)\""
        case .array(let list):
            return "[" + list.map { space() + $0.written(&chance) + space() }.joined(separator: ",") + "]"
        case .object(var members):
            for index in members.indices.reversed() { members.swapAt(index, chance.next(index + 1)) }
            return "{"
                + members.map { space() + quoted($0.0) + space() + ":" + space() + $0.1.written(&chance) + space() }
                .joined(separator: ",") + "}"
        }
    }
}

private struct SeededRandom {
    var state: UInt64

    /// Returns a number in `0..<bound`.
    mutating func next(_ bound: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int((state >> 33) % UInt64(bound))
    }
}
