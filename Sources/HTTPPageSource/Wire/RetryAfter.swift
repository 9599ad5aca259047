import PageModel

/// `Retry-After` (RFC 9110, 10.2.3): seconds, or an HTTP date.
enum RetryAfter {
    /// How long to wait from now on; nil when the field says nothing usable.
    /// - Parameter now: the moment of the answer, by its own `Date` field where it has one: the origin's clock and ours
    ///   need not agree.
    static func pause(_ field: String, now: Timestamp) -> Duration? {
        let text = field.trimmingSpaces()
        if let seconds = Int(text) { return seconds >= 0 ? .seconds(min(seconds, 1 << 31)) : nil }
        guard let date = HTTPDate.parse(text) else { return nil }
        return max(date - now, .zero)
    }
}

/// Dates in HTTP header fields (RFC 9110, 5.6.7).
enum HTTPDate {
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Reads the preferred form, `Sun, 06 Nov 1994 08:49:37 GMT`; nil for anything else.
    static func parse(_ text: String) -> Timestamp? {
        let parts = text.split(whereSeparator: { " ,:".contains($0) })
        guard parts.count == 8, parts[7] == "GMT", let day = Int(parts[1]), (1...31).contains(day),
            let month = months.firstIndex(of: String(parts[2])), let year = Int(parts[3]), (1900...9999).contains(year),
            let hour = Int(parts[4]), (0...23).contains(hour), let minute = Int(parts[5]), (0...59).contains(minute),
            let second = Int(parts[6]), (0...60).contains(second)
        else { return nil }
        let seconds = ((daysSince1970(year, month + 1, day) * 24 + hour) * 60 + minute) * 60 + second
        return Timestamp(milliseconds: Int64(seconds) * 1_000)
    }

    /// The Gregorian calendar counted in years that begin in March, so that the leap day comes last.
    private static func daysSince1970(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let shifted = month > 2 ? year : year - 1
        let era = shifted / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}
