public import PageModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// How the typed values of a source become payload bytes, and values again.
///
/// What a codec writes is what the cache keeps and compares (R6, R7), so it is deterministic: the same value gives the
/// same bytes, in every process and for good.
public protocol ItemCodec<Value>: Sendable {
    /// What items are to the program.
    associatedtype Value: Sendable

    /// The format and its version, `json/1` for example. It is stored with the query: items that were stored under
    /// another name are suspect, and are fetched again when they do not decode (R7). Change it when old bytes would be
    /// misread.
    var name: String { get }

    /// The payload for a value. What it throws fails the page for good.
    func encode(_ value: Value) throws -> [UInt8]

    /// The value of a payload. What it throws makes that one item a miss (R7), and nothing else.
    func decode(_ bytes: ArraySlice<UInt8>) throws -> Value

    /// The values of all items of a page, in order, for codecs that decode many at once faster than one by one. What
    /// this gives has to be what `decode` gives for each. Nil when one of them does not decode, and when one by one is
    /// as fast: then `decode` is asked, and only what does not decode is a miss (R7). Default: nil.
    func values(of page: PageContent) -> [Value]?
}

extension ItemCodec {
    public func values(of page: PageContent) -> [Value]? { nil }
}

/// Values as JSON: the codec of sources of `Codable` values, unless another is named.
///
/// Keys are sorted. What nothing sorts has no fixed bytes: a `Set`, or a dictionary whose keys are neither `String` nor
/// `Int`, makes a value look edited each time that it is fetched. Give it an `encode(to:)` that writes in order.
///
/// Nothing is rounded: numbers come back as they were, infinities and NaN included, and so do texts, byte for byte.
public struct JSONItemCodec<Value: Codable & Sendable>: ItemCodec {
    public let name: String
    // One of each: making them anew costs more than encoding a small item. Nobody changes them after `init`, which is
    // what lets several tasks use them at once.
    private let encoder: JSONEncoder
    private let decoder: JSONDecoder

    /// - Parameter version: of the shape of `Value`; to be raised when old items would decode to something wrong.
    ///   Default: 1.
    public init(version: Int = 1) {
        name = "json/\(version)"
        encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        decoder = JSONDecoder()
        // A `Date` is a number of seconds, and is stored as that number: ISO 8601 would cut it at the millisecond, and
        // what comes out would not equal what went in.
        encoder.dateEncodingStrategy = .deferredToDate
        decoder.dateDecodingStrategy = .deferredToDate
        // JSON has no words for these; a page is not lost because one of its numbers is infinite.
        let (infinity, minusInfinity, nan) = ("Infinity", "-Infinity", "NaN")
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: infinity, negativeInfinity: minusInfinity, nan: nan)
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: infinity, negativeInfinity: minusInfinity, nan: nan)
    }

    /// - Throws: `EncodingError`, or what the value itself throws.
    public func encode(_ value: Value) throws -> [UInt8] {
        Array(try encoder.encode(value))
    }

    /// - Throws: `DecodingError`, or what the value itself throws.
    public func decode(_ bytes: ArraySlice<UInt8>) throws -> Value {
        try decoder.decode(Value.self, from: Data(bytes))
    }

    /// The page as one JSON array: the decoder begins once, and not once for each item.
    public func values(of page: PageContent) -> [Value]? {
        guard page.count > 1 else { return nil }
        // Every payload is one JSON value, or a source has stored what is none: then there are more values than items,
        // or fewer, unless it did so on purpose.
        guard let values = try? decoded(page), values.count == page.count else { return nil }
        return values
    }

    private func decoded(_ page: PageContent) throws -> [Value] {
        let length = page.bytes.count + page.count + 1
        return try withUnsafeTemporaryAllocation(byteCount: length, alignment: 1) { array in
            var end = 0
            func put(_ byte: UInt8) {
                array[end] = byte
                end += 1
            }
            page.bytes.withUnsafeBytes { bytes in
                for index in 0..<page.count {
                    put(index == 0 ? UInt8(ascii: "[") : UInt8(ascii: ","))
                    let payload = UnsafeRawBufferPointer(rebasing: bytes[page.byteRange(of: index)])
                    UnsafeMutableRawBufferPointer(rebasing: array[end...]).copyMemory(from: payload)
                    end += payload.count
                }
            }
            put(UInt8(ascii: "]"))
            // Looked at in place, and only in here: what the decoder gives holds nothing of it.
            guard let start = array.baseAddress else { return [] }
            return try decoder.decode(
                Values<Value>.self, from: Data(bytesNoCopy: start, count: length, deallocator: .none)
            ).values
        }
    }
}

/// An array of them. `Array` decodes into one that has room for more, and these stay in memory for long.
private struct Values<Value: Decodable>: Decodable {
    var values: [Value] = []

    init(from decoder: any Decoder) throws {
        var container = try decoder.unkeyedContainer()
        values.reserveCapacity(container.count ?? 0)
        while !container.isAtEnd { values.append(try container.decode(Value.self)) }
    }
}

/// Bytes as they are, for sources that do not want them read.
public struct RawItemCodec: ItemCodec {
    /// The codec; it has no settings.
    public init() {}

    public var name: String { "raw/1" }

    public func encode(_ value: [UInt8]) -> [UInt8] { value }

    public func decode(_ bytes: ArraySlice<UInt8>) -> [UInt8] { Array(bytes) }
}
