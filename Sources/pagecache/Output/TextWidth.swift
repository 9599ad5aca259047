#if Tool
/// How many columns of a terminal a text takes up: pure. For texts that are `Printable` already.
///
/// Terminals advance by scalar: two columns for what is wide in East Asian typography (Unicode Standard Annex 11), none
/// for marks and joiners that belong to what stands before them, else one. A picture made of several scalars takes up
/// two, whatever it is made of (Unicode Technical Standard 51); old terminals that draw its parts one by one are not
/// asked for. What is wide only in some fonts ("ambiguous") takes up one column, as it does outside East Asian locales.
enum TextWidth {
    static func columns(_ text: some StringProtocol) -> Int {
        // Mostly, it is ASCII.
        let bytes = text.utf8
        return bytes.allSatisfy { $0 < 0x80 } ? bytes.count : text.reduce(0) { $0 + columns($1) }
    }

    /// The longest beginning that fits into so many columns; no character is cut in two.
    static func prefix<Text: StringProtocol>(_ text: Text, columns room: Int) -> Text.SubSequence {
        var used = 0
        let end = text.indices.first { index in
            used += columns(text[index])
            return used > room
        }
        return text[..<(end ?? text.endIndex)]
    }

    /// The text, or as much of it as fits, and "…".
    static func cut(_ text: String, to room: Int) -> String {
        columns(text) <= room ? text : prefix(text, columns: room - 1) + "…"
    }

    /// The same with its beginning and its end: what tells one URL from another mostly stands there.
    static func cutInside(_ text: String, to room: Int) -> String {
        guard columns(text) > room else { return text }
        let beginning = prefix(text, columns: (room - 1) / 3)
        let end = prefix(String(text.reversed()), columns: room - 1 - columns(beginning))
        return beginning + "…" + String(end.reversed())
    }

    private static func columns(_ character: Character) -> Int {
        var scalars = character.unicodeScalars.makeIterator()
        guard let first = scalars.next() else { return 0 }
        if first.properties.isEmoji, let second = scalars.next(), isPicture(first, second) { return 2 }
        return character.unicodeScalars.reduce(0) { $0 + columns($1) }
    }

    /// Whether both begin one picture: the first is one by itself, or the second makes it one (Unicode Technical
    /// Standard 51, "emoji presentation sequence", "emoji modifier sequence").
    private static func isPicture(_ first: Unicode.Scalar, _ second: Unicode.Scalar) -> Bool {
        second.value == 0xFE0F || second.properties.isEmojiModifier || columns(first) == 2
    }

    private static func columns(_ scalar: Unicode.Scalar) -> Int {
        switch scalar.value {
        case 0x20..<0x7F: 1
        // A soft hyphen is a format character, and terminals show it.
        case 0xAD: 1
        // Half of a flag: two of them take up two columns.
        case 0x1F1E6...0x1F1FF: 1
        // Vowels and final consonants of a Hangul syllable stand in the cell of its first consonant.
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

    /// What is wide (W) or fullwidth (F) in EastAsianWidth.txt of Unicode 16, without what `isEmojiPresentation` says
    /// of itself: all of that is wide. Ranges include what between them is not assigned.
    private static let wide: [ClosedRange<UInt32>] = [
        // Hangul; angle brackets; trigrams.
        0x1100...0x115F, 0x2329...0x232A, 0x2630...0x2637, 0x268A...0x268F,
        // Radicals, punctuation, kana, bopomofo, Hangul again, enclosed letters, ideographs, Yi.
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
