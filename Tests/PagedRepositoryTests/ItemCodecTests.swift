import Foundation
import PagedRepository
import Testing

@Suite("Item codecs")
struct ItemCodecTests {
    private struct Everything: Codable, Hashable, Sendable {
        var zebra = "z"
        var apple = "a"
        var numbers: [String: Int] = [:]
        var text = ""
        var signed = Int64.min
        var unsigned = UInt64.max
        var doubles: [Double] = []
        var decimal = Decimal(string: "12345678901234567.8901234567")!
        var dates: [Date] = []
        var data = Data()
        var nothing: Int?
        var link = URL(string: "https://example.org/a/b?c=d")!
    }

    private func roundTrip<Codec: ItemCodec>(_ codec: Codec, _ value: Codec.Value) throws -> Codec.Value {
        // The payload is a slice in the middle of a stored page, so its indices do not begin at 0.
        let bytes = try [0xff, 0xff] + codec.encode(value) + [0xff]
        return try codec.decode(bytes[2..<bytes.count - 1])
    }

    @Test("The same value always gives the same bytes, with sorted keys (R7)")
    func deterministic() throws {
        struct Song: Codable { var title = "Été / 1"; var id = 7; var tags = ["b": 2, "a": 1, "c": 3] }
        let bytes = try JSONItemCodec<Song>().encode(Song())
        #expect(String(decoding: bytes, as: UTF8.self) == #"{"id":7,"tags":{"a":1,"b":2,"c":3},"title":"Été / 1"}"#)
        for _ in 0..<20 {
            // A dictionary's internal order depends on the order of its insertions.
            var song = Song()
            song.tags = [:]
            for key in ["a", "b", "c"].shuffled() { song.tags[key] = ["a": 1, "b": 2, "c": 3][key] }
            #expect(try JSONItemCodec<Song>().encode(song) == bytes)
        }
    }

    @Test("Numbers survive a round trip unchanged")
    func numbers() throws {
        var value = Everything()
        value.doubles = [
            0.1, 0.1 + 0.2, 1 / 3, .pi, -0.0, 1e21, .leastNonzeroMagnitude, .greatestFiniteMagnitude, .infinity,
            -.infinity,
        ]
        let back = try roundTrip(JSONItemCodec(), value)
        #expect(back == value)
        #expect(back.doubles.map(\.bitPattern) == value.doubles.map(\.bitPattern))
        #expect(try roundTrip(JSONItemCodec(), [Double.nan]).first?.isNaN == true)
    }

    @Test("Dates survive a round trip to the last bit")
    func dates() throws {
        let dates =
            [0.1, 0.1 + 0.2, -1e9 / 3, 785_000_000.123456789].map { Date(timeIntervalSinceReferenceDate: $0) }
            + [Date(timeIntervalSince1970: 0), Date(), .distantPast, .distantFuture]
        #expect(try roundTrip(JSONItemCodec(), dates) == dates)
    }

    @Test(
        "Texts survive a round trip byte for byte",
        arguments: [
            "", "plain", "a/b\\c\"d", "Ä é ß", "e\u{301}", "日本語", "👩🏽‍🚀", "\u{0}\u{1f}\u{7f}", "\u{2028}\u{2029}",
            "line\nbreak\ttab", "\u{feff}mark",
        ])
    func texts(_ text: String) throws {
        #expect(try Array(roundTrip(JSONItemCodec(), text).utf8) == Array(text.utf8))
        #expect(try Array(roundTrip(JSONItemCodec(), [text: text])[text]!.utf8) == Array(text.utf8))
    }

    @Test(
        "Bytes that do not decode throw DecodingError",
        arguments: ["", "{", #"{"id":"seven"}"#, #"{"id":7"#, "\u{fffd}", "null", "[1,2]"])
    func undecodable(_ text: String) {
        struct Numbered: Codable { var id: Int }
        #expect(throws: DecodingError.self) { try JSONItemCodec<Numbered>().decode(Array(text.utf8)[...]) }
        #expect(throws: DecodingError.self) { try JSONItemCodec<Numbered>().decode([0xff, 0xfe, 0x00]) }
    }

    @Test("The name of a codec contains the format and its version")
    func names() {
        #expect(JSONItemCodec<Int>().name == "json/1")
        #expect(JSONItemCodec<Int>(version: 2).name == "json/2")
        #expect(RawItemCodec().name == "raw/1")
    }

    @Test("The raw codec leaves bytes unchanged")
    func raw() throws {
        let bytes = (0...255).map { UInt8($0) }
        #expect(try roundTrip(RawItemCodec(), bytes) == bytes)
        #expect(try roundTrip(RawItemCodec(), []) == [])
    }

    @Test("One codec serves many tasks at once")
    func shared() async throws {
        let codec = JSONItemCodec<[String: Int]>()
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<64 {
                group.addTask { try codec.decode(codec.encode(["n": number])[...]) == ["n": number] }
            }
            for try await isSame in group { #expect(isSame) }
        }
    }
}
