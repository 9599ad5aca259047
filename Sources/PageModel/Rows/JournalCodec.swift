/// Encodes the changes of a journal entry for its row: a format byte, then numbers in LEB128, and texts and payloads
/// with their length in front.
package enum JournalCodec {
    private static let format: UInt8 = 2

    package static func encode(_ changes: [JournalChange]) -> [UInt8] {
        guard !changes.isEmpty else { return [] }
        var writer = Writer()
        writer.bytes.reserveCapacity(changes.reduce(8) { $0 + $1.cost })
        writer.bytes.append(format)
        for change in changes {
            switch change {
            case .loaded(let range):
                writer.bytes.append(1)
                writer.put(range)
            case .dropped(let range):
                writer.bytes.append(2)
                writer.put(range)
            case .generationBegan:
                writer.bytes.append(3)
            case .rearranged(let parts):
                writer.bytes.append(4)
                writer.put(parts)
            }
        }
        return writer.bytes
    }

    /// Decodes changes. Returns nil when the bytes are not a valid encoding.
    package static func decode(_ bytes: UnsafeRawBufferPointer) -> [JournalChange]? {
        guard !bytes.isEmpty else { return [] }
        guard bytes[0] == format else { return nil }
        var reader = Reader(bytes: bytes, position: 1)
        var changes: [JournalChange] = []
        while let tag = reader.byte() {
            switch tag {
            case 1:
                guard let range = reader.range() else { return nil }
                changes.append(.loaded(range))
            case 2:
                guard let range = reader.range() else { return nil }
                changes.append(.dropped(range))
            case 3:
                changes.append(.generationBegan)
            case 4:
                guard let parts = reader.rearrangement() else { return nil }
                changes.append(.rearranged(parts))
            default:
                return nil
            }
        }
        return changes
    }

    private struct Writer {
        var bytes: [UInt8] = []

        mutating func put(_ number: Int) {
            var rest = UInt(bitPattern: number)
            while rest >= 0x80 {
                bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
                rest >>= 7
            }
            bytes.append(UInt8(truncatingIfNeeded: rest))
        }

        mutating func put(_ range: Range<Int>) {
            put(range.lowerBound)
            put(range.upperBound)
        }

        /// Writes 0 for a missing id. Otherwise writes twice the length of the id, plus one for a number, plus one,
        /// followed by the id.
        mutating func put(id: String?, _ type: IDType) {
            guard let id else { return put(0) }
            put(id.utf8.count << 1 + Int(type.rawValue) + 1)
            bytes.append(contentsOf: id.utf8)
        }

        mutating func put(_ item: RawItem) {
            put(id: item.id, item.idType)
            put(item.payload.count)
            bytes.append(contentsOf: item.payload)
        }

        mutating func put<Element>(_ list: [Element], _ each: (inout Writer, Element) -> Void) {
            put(list.count)
            for element in list { each(&self, element) }
        }

        mutating func put(_ parts: JournalRearrangement) {
            put(parts.removed) { $0.put($1) }
            put(parts.added) { $0.put($1) }
            put(parts.deleted) {
                $0.put($1.position)
                $0.put($1.item)
            }
            put(parts.inserted) {
                $0.put($1.position)
                $0.put(id: $1.id, $1.idType)
            }
            put(parts.moved) {
                $0.put($1.from)
                $0.put($1.to)
                $0.put(id: $1.id, $1.idType)
            }
            put(parts.edited) {
                $0.put($1.from)
                $0.put($1.to)
                $0.put($1.before)
            }
        }
    }

    /// Every method returns nil where the bytes end too early, or hold an impossible position or length (R46).
    private struct Reader {
        let bytes: UnsafeRawBufferPointer
        var position: Int

        mutating func byte() -> UInt8? {
            guard position < bytes.count else { return nil }
            defer { position += 1 }
            return bytes[position]
        }

        mutating func number() -> Int? {
            var result: UInt = 0
            var shift: UInt = 0
            while shift < 63, let byte = byte() {
                result |= UInt(byte & 0x7f) << shift
                if byte & 0x80 == 0 { return Int(exactly: result) }
                shift += 7
            }
            return nil
        }

        /// Reads a position. Returns nil for a number beyond `ListTotal.largest`.
        mutating func place() -> Int? { number().flatMap { $0 <= ListTotal.largest ? $0 : nil } }

        mutating func range() -> Range<Int>? {
            guard let lower = place(), let upper = number(), lower <= upper, upper <= ListTotal.largest || upper == .max
            else { return nil }
            return lower..<upper
        }

        mutating func take(_ count: Int) -> UnsafeRawBufferPointer? {
            guard count >= 0, count <= bytes.count - position else { return nil }
            defer { position += count }
            return UnsafeRawBufferPointer(rebasing: bytes[position..<position + count])
        }

        mutating func id() -> (text: String?, type: IDType)? {
            guard let number = number() else { return nil }
            guard number > 0 else { return (nil, .string) }
            let word = number - 1
            return take(word >> 1).map { (String(decoding: $0, as: UTF8.self), word & 1 == 0 ? .string : .number) }
        }

        mutating func item() -> RawItem? {
            guard let id = id(), let length = number(), let payload = take(length) else { return nil }
            return RawItem(payload: Array(payload), id: id.text, idType: id.type)
        }

        mutating func list<Element>(_ each: (inout Reader) -> Element?) -> [Element]? {
            // Each element takes at least two bytes. This check keeps a damaged count from reserving memory it cannot
            // fill.
            guard let count = number(), count <= (bytes.count - position) / 2 else { return nil }
            var list: [Element] = []
            list.reserveCapacity(count)
            for _ in 0..<count {
                guard let element = each(&self) else { return nil }
                list.append(element)
            }
            return list
        }

        mutating func rearrangement() -> JournalRearrangement? {
            guard let removed = list({ $0.range() }), let added = list({ $0.range() }),
                let deleted = list({ reader -> JournalRearrangement.Deletion? in
                    guard let position = reader.place(), let item = reader.item() else { return nil }
                    return JournalRearrangement.Deletion(position: position, item: item)
                }),
                let inserted = list({ reader -> JournalRearrangement.Insertion? in
                    guard let position = reader.place(), let id = reader.id() else { return nil }
                    return JournalRearrangement.Insertion(position: position, id: id.text, idType: id.type)
                }),
                let moved = list({ reader -> JournalRearrangement.Move? in
                    guard let from = reader.place(), let to = reader.place(), let id = reader.id() else { return nil }
                    return JournalRearrangement.Move(from: from, to: to, id: id.text, idType: id.type)
                }),
                let edited = list({ reader -> JournalRearrangement.Edit? in
                    guard let from = reader.place(), let to = reader.place(), let before = reader.item() else {
                        return nil
                    }
                    return JournalRearrangement.Edit(from: from, to: to, before: before)
                })
            else { return nil }
            return JournalRearrangement(
                removed: removed, added: added, deleted: deleted, inserted: inserted, moved: moved, edited: edited)
        }
    }
}
