package import PageModel

/// Pages of so many items of so many bytes, each with an id. An edition is the same page with other bytes.
package struct Material {
    package var items = 50
    package var bytes = 500

    package init(items: Int = 50, bytes: Int = 500) {
        self.items = items
        self.bytes = bytes
    }

    package var text: String { "\(items) × \(bytes >= 1_000 ? "\(bytes / 1_000) KB" : "\(bytes) B")" }

    package func content(_ number: Int, edition: Int = 0) -> PageContent {
        PageContent(
            (number * items..<(number + 1) * items).map { item in
                RawItem(
                    payload: Array(repeating: UInt8(truncatingIfNeeded: item &+ edition), count: bytes),
                    id: "item-\(item)")
            })
    }

    /// A page as a C program would have it in hand: the same bytes, and the hashes that it would have computed itself.
    package struct Prepared {
        package var content: PageContent
        package var layout: [UInt8]
        package var hashes: [ItemIdentity]
    }

    package func prepared(_ number: Int, edition: Int = 0) -> Prepared {
        let content = content(number, edition: edition)
        return Prepared(content: content, layout: layout(of: content), hashes: content.identities)
    }

    /// As the store lays it out: a format byte, the count, and per item the length of its payload and of its id, and
    /// the id.
    private func layout(of content: PageContent) -> [UInt8] {
        var layout: [UInt8] = [2]
        append(content.count, to: &layout)
        for index in 0..<content.count {
            append(content.byteRange(of: index).count, to: &layout)
            let id = content.ids[index] ?? ""
            append(id.utf8.count + 1, to: &layout)
            layout += Array(id.utf8)
        }
        return layout
    }

    /// Seven bits a byte, lowest first (LEB128).
    private func append(_ number: Int, to layout: inout [UInt8]) {
        var rest = number
        while rest > 0x7f {
            layout.append(UInt8(rest & 0x7f) | 0x80)
            rest >>= 7
        }
        layout.append(UInt8(rest))
    }
}
