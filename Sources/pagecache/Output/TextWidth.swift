#if Tool
/// The width of a text in terminal columns. Pure. The text must have passed `Printable.text` before.
///
/// Terminals advance by scalar. A scalar that is wide in East Asian typography takes two columns (Unicode Standard
/// Annex 11). A mark or joiner of the character before it takes none. Any other scalar takes one. An emoji of several
/// scalars takes two columns (Unicode Technical Standard 51). Old terminals that draw its parts one by one are not
/// supported. A scalar of ambiguous width takes one column, as outside East Asian locales.
enum TextWidth {
    static func columns(_ text: some StringProtocol) -> Int {
        // Most texts are ASCII.
        let bytes = text.utf8
        return bytes.allSatisfy { $0 < 0x80 } ? bytes.count : text.reduce(0) { $0 + columns($1) }
    }

    /// The longest prefix that fits into `room` columns. No character is split.
    static func prefix<Text: StringProtocol>(_ text: Text, columns room: Int) -> Text.SubSequence {
        var used = 0
        let end = text.indices.first { index in
            used += columns(text[index])
            return used > room
        }
        return text[..<(end ?? text.endIndex)]
    }

    /// The text, or its longest prefix that fits, followed by "…".
    static func cut(_ text: String, to room: Int) -> String {
        columns(text) <= room ? text : prefix(text, columns: room - 1) + "…"
    }

    /// Like `cut`, but keeps the beginning and the end, because URLs mostly differ there. The last path segment of a
    /// URL stays whole where it fits.
    static func cutInside(_ text: String, to room: Int) -> String {
        guard columns(text) > room else { return text }
        let segment = lastSegment(text)
        let wholes = [columns(segment) + 1, columns(segment)]
        var beginning = prefix(text, columns: (room - 1) / 3)
        if segment.count < text.count, let whole = wholes.first(where: { $0 < room }) {
            beginning = prefix(text, columns: min(columns(beginning), room - 1 - whole))
        }
        let end = prefix(String(text.reversed()), columns: room - 1 - columns(beginning))
        return beginning + "…" + String(end.reversed())
    }

    /// The last segment of the path of a URL, with the query after it: `orders?open=1` of `https://host/orders?open=1`.
    /// The whole text when it has no path.
    static func lastSegment(_ text: String) -> Substring {
        var path = text.prefix { $0 != "?" }
        while path.last == "/" { path.removeLast() }
        guard let slash = path.lastIndex(of: "/") else { return text[...] }
        return text[text.index(after: slash)...]
    }

    private static func columns(_ character: Character) -> Int {
        var scalars = character.unicodeScalars.makeIterator()
        guard let first = scalars.next() else { return 0 }
        if first.properties.isEmoji, let second = scalars.next(), isPicture(first, second) { return 2 }
        return character.unicodeScalars.reduce(0) { $0 + columns($1) }
    }

    /// Whether two scalars start an emoji of two columns. Either the first scalar is such an emoji alone, or the second
    /// scalar makes it one. Unicode Technical Standard 51 calls such pairs "emoji presentation sequence" and "emoji
    /// modifier sequence".
    private static func isPicture(_ first: Unicode.Scalar, _ second: Unicode.Scalar) -> Bool {
        second.value == 0xFE0F || second.properties.isEmojiModifier || columns(first) == 2
    }

    private static func columns(_ scalar: Unicode.Scalar) -> Int {
        switch scalar.value {
        case 0x20..<0x7F: 1
        // A soft hyphen is a format character, but terminals show it.
        case 0xAD: 1
        // Half of a flag. A whole flag takes two columns.
        case 0x1F1E6...0x1F1FF: 1
        // Vowels and final consonants of a Hangul syllable share the cell of its first consonant.
        case 0x1160...0x11FF, 0xD7B0...0xD7FF: 0
        case _ where isMark(scalar): 0
        case _ where scalar.properties.isEmojiPresentation || wide.contains { $0.contains(scalar.value) }: 2
        default: 1
        }
    }

    private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: true
        default: false
        }
    }

    /// The wide (W) and fullwidth (F) ranges of EastAsianWidth.txt in Unicode 16. Scalars with `isEmojiPresentation`
    /// are left out, because `columns` treats all of them as wide. Ranges include unassigned scalars between assigned
    /// ones.
    private static let wide: [ClosedRange<UInt32>] = [
        // Hangul; angle brackets; trigrams.
        0x1100...0x115F, 0x2329...0x232A, 0x2630...0x2637, 0x268A...0x268F,
        // Radicals, punctuation, kana, bopomofo, more Hangul, enclosed letters, ideographs, Yi.
        0x2E80...0x303E, 0x3040...0x3247, 0x3250...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF,
        // Vertical and small forms, fullwidth letters and signs.
        0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6,
        // Tangut, Khitan, Nushu, historic kana; Tai Xuan Jing; enclosed ideographs.
        0x16FE0...0x18DFF, 0x1AFF0...0x1B2FF, 0x1D300...0x1D376, 0x1F200...0x1F265,
        // The planes of ideographs.
        0x20000...0x2FFFD, 0x30000...0x3FFFD,
    ]
}
#endif
