/// Encodes a page's items for its `body` row: the payloads unchanged, and a layout with the length and the id of
/// each item.
///
/// Layout, format 3: the byte 3, the number of items, and an entry for each item. An entry is the length of the
/// payload, an id word and the id. The id word is 0 for an item without an id. Otherwise it is twice the length of the
/// id in bytes, plus one if the id is a number, plus one. Numbers are LEB128.
package enum BodyCodec {
    package static let format: UInt8 = 3

    package static func layout(of content: PageContent) -> [UInt8] {
        // Each number in the layout is at most one of these four, so `width` bytes hold it.
        let (letters, longest) = content.places.reduce((0, 0)) {
            ($0.0 + max($1.idCount, 0), max($0.1, $1.idWord + 1))
        }
        let width = (Int.bitWidth - max(content.bytes.count, content.count, longest, 1).leadingZeroBitCount + 6) / 7
        return Array(unsafeUninitializedCapacity: 1 + letters + width * (1 + 2 * content.count)) { buffer, used in
            var writer = Writer(bytes: UnsafeMutableRawBufferPointer(buffer))
            writer.put(format)
            writer.put(number: content.count)
            var start = 0
            content.text.withUnsafeBytes { text in
                for place in content.places {
                    writer.put(number: place.end - start)
                    start = place.end
                    writer.put(number: place.idWord + 1)
                    if place.idCount > 0 {
                        writer.put(
                            UnsafeRawBufferPointer(rebasing: text[place.idStart..<place.idStart + place.idCount]))
                    }
                }
            }
            used = writer.position
        }
    }

    /// Decodes the items of a body. The ids are not decoded: the result refers to them in a copy of the layout.
    /// - Returns: the items, or nil when the layout is invalid or the checksum does not match.
    package static func content(layout: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer, checksum: UInt64)
        -> PageContent?
    {
        guard let places = places(in: layout, payload: payload.count) else { return nil }
        var seal = RowChecksum(RowChecksum.body)
        seal.mix(layout)
        var start = 0
        for place in places {
            seal.mix(ItemIdentity.content(of: UnsafeRawBufferPointer(rebasing: payload[start..<place.end])))
            start = place.end
        }
        guard seal.value == checksum else { return nil }
        return PageContent(bytes: Array(payload), places: places, text: Array(layout))
    }

    /// Decodes the places of the items. Returns nil when the layout is invalid, or does not fit a payload of `payload`
    /// bytes.
    package static func places(in layout: UnsafeRawBufferPointer, payload: Int) -> [PageContent.Place]? {
        guard layout.first == format else { return nil }
        var reader = Reader(bytes: layout, position: 1)
        // Each item takes at least two bytes of layout. This check keeps a damaged count from reserving memory it
        // cannot fill.
        guard let count = reader.number(), count <= layout.count / 2 else { return nil }
        var places: [PageContent.Place] = []
        places.reserveCapacity(count)
        var end = 0
        for _ in 0..<count {
            guard let length = reader.number(), let idWord = reader.number() else { return nil }
            let (sum, overflow) = end.addingReportingOverflow(length)
            guard !overflow, sum <= payload else { return nil }
            end = sum
            // The key of an item without an id is computed on demand.
            places.append(
                PageContent.Place(end: end, idStart: idWord == 0 ? 0 : reader.position, idWord: idWord - 1))
            guard reader.skip(max(idWord - 1, 0) >> 1) else { return nil }
        }
        guard reader.position == layout.count, end == payload else { return nil }
        return places
    }

    /// Computes the checksum of a body from its layout and the content hash of each item, in order. A caller that
    /// stores a page already has these hashes, so the payload is read only once.
    package static func checksum(layout: [UInt8], _ identities: [ItemIdentity]) -> UInt64 {
        var seal = RowChecksum(RowChecksum.body)
        layout.withUnsafeBytes { seal.mix($0) }
        for identity in identities { seal.mix(identity.content) }
        return seal.value
    }

    /// Calls `body` with 16 bytes per item: the key and the content hash, little-endian.
    package static func withHashes<Value>(of identities: [ItemIdentity], _ body: (UnsafeRawBufferPointer) -> Value)
        -> Value
    {
        // An `ItemIdentity` is two words in memory. Every platform of Swift is little-endian, so no conversion is
        // needed.
        identities.withUnsafeBytes(body)
    }

    /// Calls `body` with the index and the identity key of each item.
    @inlinable
    package static func eachKey(in hashes: UnsafeRawBufferPointer, _ body: (Int, UInt64) -> Void) {
        for index in 0..<hashes.count / 16 {
            body(index, UInt64(littleEndian: hashes.loadUnaligned(fromByteOffset: index * 16, as: UInt64.self)))
        }
    }

    /// Returns the content hash of the item at `index`.
    @inlinable
    package static func content(at index: Int, in hashes: UnsafeRawBufferPointer) -> UInt64 {
        UInt64(littleEndian: hashes.loadUnaligned(fromByteOffset: index * 16 + 8, as: UInt64.self))
    }

    private struct Writer {
        let bytes: UnsafeMutableRawBufferPointer
        var position = 0

        mutating func put(_ byte: UInt8) {
            bytes[position] = byte
            position += 1
        }

        mutating func put(number: Int) {
            var rest = UInt(number)
            while rest >= 0x80 {
                put(UInt8(truncatingIfNeeded: rest) | 0x80)
                rest >>= 7
            }
            put(UInt8(truncatingIfNeeded: rest))
        }

        mutating func put(_ text: UnsafeRawBufferPointer) {
            guard !text.isEmpty else { return }
            UnsafeMutableRawBufferPointer(rebasing: bytes[position..<position + text.count]).copyMemory(from: text)
            position += text.count
        }
    }

    private struct Reader {
        let bytes: UnsafeRawBufferPointer
        var position: Int

        mutating func number() -> Int? {
            var result: UInt = 0
            var shift: UInt = 0
            while position < bytes.count, shift < 63 {
                let byte = bytes[position]
                position += 1
                result |= UInt(byte & 0x7f) << shift
                if byte & 0x80 == 0 { return Int(exactly: result) }
                shift += 7
            }
            return nil
        }

        mutating func skip(_ length: Int) -> Bool {
            guard length <= bytes.count - position else { return false }
            position += length
            return true
        }
    }
}
