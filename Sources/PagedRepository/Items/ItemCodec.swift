public import PageModel

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A codec that converts the typed values of a source to payload bytes and back.
///
/// The cache stores and compares these bytes (R6, R7), so a codec must be deterministic. The same value must give the
/// same bytes, in every process and every version.
public protocol ItemCodec<Value>: Sendable {
    /// The type of the items in the program.
    associatedtype Value: Sendable

    /// The format and its version, for example `json/1`. The name is stored with the query. Validators and cursors that
    /// were stored under another name are not used. The name is not compared when items are read: only items that do
    /// not decode are fetched again (R7). Change the name with the format.
    var name: String { get }

    /// Returns the payload of a value. An error fails the page permanently.
    func encode(_ value: Value) throws -> [UInt8]

    /// Returns the value of a payload. An error makes only that item a cache miss (R7).
    func decode(_ bytes: ArraySlice<UInt8>) throws -> Value

    /// The treatment of items that do not decode. Defaults to `skip`.
    var undecodable: UndecodableItems<Value> { get }

    /// Returns the values of all items of a page, in order, for codecs that decode many items faster at once than one
    /// by one. Each value must equal the result of `decode` for the item.
    ///
    /// Returns nil when an item does not decode, or when decoding one by one is as fast. Each item is then passed to
    /// `decode`, and only items that do not decode are misses (R7). The default implementation returns nil.
    func values(of page: PageContent) -> [Value]?
}

extension ItemCodec {
    /// The default: `skip`.
    public var undecodable: UndecodableItems<Value> { .skip }
    public func values(of page: PageContent) -> [Value]? { nil }
}

/// Values as JSON: the default codec of sources of `Codable` values.
///
/// Keys are sorted. A `Set`, or a dictionary whose keys are neither `String` nor `Int`, has no fixed order and so no
/// fixed bytes. A value that contains such a collection looks edited after every fetch. Give its type an `encode(to:)`
/// that writes the elements in a fixed order.
///
/// Unless the codec has an encoder and a decoder of your own, values are restored exactly: numbers, including
/// infinities and NaN, and texts, byte for byte.
public struct JSONItemCodec<Value: Codable & Sendable>: ItemCodec {
    public let name: String
    public let undecodable: UndecodableItems<Value>
    // One encoder and one decoder: creating them costs more than encoding a small item. They do not change after
    // `init`, so several tasks may use them at once.
    private let encoder: JSONEncoder
    private let decoder: JSONDecoder

    /// - Parameters:
    ///   - encoder: encodes values. Keys are sorted in any case, because equal values need equal bytes. Do not change
    ///     the encoder afterwards.
    ///   - decoder: decodes values. The decoder has to fit the encoder. Do not change it afterwards.
    ///   - version: the version of the shape of `Value`, a part of `name`. Defaults to 1.
    ///   - undecodable: the treatment of items that do not decode. Defaults to `skip`.
    public init(
        encoder: JSONEncoder, decoder: JSONDecoder, version: Int = 1, undecodable: UndecodableItems<Value> = .skip
    ) {
        name = "json/\(version)"
        self.undecodable = undecodable
        encoder.outputFormatting.insert(.sortedKeys)
        self.encoder = encoder
        self.decoder = decoder
    }

    /// - Parameters:
    ///   - version: the version of the shape of `Value`, a part of `name`. Raise the number when the shape changes.
    ///     Defaults to 1.
    ///   - undecodable: the treatment of items that do not decode. Defaults to `skip`.
    public init(version: Int = 1, undecodable: UndecodableItems<Value> = .skip) {
        name = "json/\(version)"
        self.undecodable = undecodable
        encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        decoder = JSONDecoder()
        // A `Date` is a number of seconds, and is stored as that number. ISO 8601 would truncate it to milliseconds,
        // and the decoded date would not equal the encoded one.
        encoder.dateEncodingStrategy = .deferredToDate
        decoder.dateDecodingStrategy = .deferredToDate
        // JSON has no infinite numbers and no NaN. They are stored as strings, so that such a number does not fail its
        // page.
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

    /// Decodes the page as one JSON array, so that the decoder is set up only once.
    public func values(of page: PageContent) -> [Value]? {
        guard page.count > 1 else { return nil }
        // Every payload should be one JSON value. If a source stored something else, the number of values usually
        // differs from the number of items.
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
            // The buffer is read only inside this closure: the decoded values hold no reference to it.
            guard let start = array.baseAddress else { return [] }
            return try decoder.decode(
                Values<Value>.self, from: Data(bytesNoCopy: start, count: length, deallocator: .none)
            ).values
        }
    }
}

/// An array with exact capacity. `Array` decodes with spare capacity, and these arrays stay in memory for a long time.
private struct Values<Value: Decodable>: Decodable {
    var values: [Value] = []

    init(from decoder: any Decoder) throws {
        var container = try decoder.unkeyedContainer()
        values.reserveCapacity(container.count ?? 0)
        while !container.isAtEnd { values.append(try container.decode(Value.self)) }
    }
}

/// A codec that stores bytes unchanged, for sources whose items are not decoded.
public struct RawItemCodec: ItemCodec {
    /// Creates the codec, which has no settings.
    public init() {}

    public var name: String { "raw/1" }

    public func encode(_ value: [UInt8]) -> [UInt8] { value }

    public func decode(_ bytes: ArraySlice<UInt8>) -> [UInt8] { Array(bytes) }
}
