/// Host names in other scripts in their network form: each such label in lower case, and in Punycode (RFC 5891, 4).
///
/// IDNA also normalises equivalent forms of a letter and rejects disallowed characters. This type does neither. A host in
/// another form than its registered one is not found.
enum HostName {
    /// Returns nil when a label is longer than the network allows (RFC 1035, 2.3.4).
    static func ascii(_ host: String) -> String? {
        guard !host.utf8.allSatisfy({ $0 < 0x80 }) else { return host }
        // These full stops separate labels, too (UTS 46, 2.3).
        let labels = host.lowercased().split(omittingEmptySubsequences: false) {
            [".", "\u{3002}", "\u{FF0E}", "\u{FF61}"].contains($0)
        }
        var written: [String] = []
        for label in labels {
            let isPlain = label.utf8.allSatisfy { $0 < 0x80 }
            let ascii = isPlain ? String(label) : "xn--" + punycode(label)
            guard ascii.utf8.count <= 63 else { return nil }
            written.append(ascii)
        }
        return written.joined(separator: ".")
    }

    /// Encodes a label in Punycode (RFC 3492, 6.3). The ASCII letters come first, then a hyphen, then one number for
    /// each other letter. The number is the distance from the letter before, in digits that mark their own end.
    static func punycode(_ label: some StringProtocol) -> String {
        let letters = label.unicodeScalars.map(\.value)
        var written = String(String.UnicodeScalarView(label.unicodeScalars.filter(\.isASCII)))
        let plain = written.unicodeScalars.count
        if plain > 0 { written += "-" }
        var (done, letter, delta, bias) = (plain, UInt32(128), 0, 72)
        while done < letters.count {
            // At least one letter is not written yet.
            guard let next = letters.filter({ $0 >= letter }).min() else { break }
            delta += Int(next - letter) * (done + 1)
            letter = next
            for other in letters {
                if other < letter { delta += 1 }
                guard other == letter else { continue }
                written += digits(delta, bias)
                bias = adapted(delta, done + 1, isFirst: done == plain)
                delta = 0
                done += 1
            }
            delta += 1
            letter += 1
        }
        return written
    }

    private static func digits(_ number: Int, _ bias: Int) -> String {
        let alphabet = Array("abcdefghijklmnopqrstuvwxyz0123456789")
        var text = ""
        var rest = number
        var position = 36
        while true {
            let threshold = min(max(position - bias, 1), 26)
            if rest < threshold { break }
            text.append(alphabet[threshold + (rest - threshold) % (36 - threshold)])
            rest = (rest - threshold) / (36 - threshold)
            position += 36
        }
        text.append(alphabet[rest])
        return text
    }

    private static func adapted(_ delta: Int, _ count: Int, isFirst: Bool) -> Int {
        var delta = isFirst ? delta / 700 : delta / 2
        delta += delta / count
        var position = 0
        while delta > 35 * 26 / 2 {
            delta /= 35
            position += 36
        }
        return position + 36 * delta / (delta + 38)
    }
}
