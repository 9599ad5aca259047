import PageModel

/// Dates in HTTP header fields (RFC 9110, 5.6.7).
enum HTTPDate {
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Parses the preferred form, `Sun, 06 Nov 1994 08:49:37 GMT`, and the two obsolete forms that recipients must
    /// accept. These are `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun Nov  6 08:49:37 1994`. Returns nil for any other
    /// text.
    static func parse(_ text: String) -> Timestamp? {
        var parts = text.split(whereSeparator: { " ,:-".contains($0) }).map(String.init)
        // The form of C's `asctime` has the month before the day, and the year at the end.
        if parts.count == 7 { parts = [parts[0], parts[2], parts[1], parts[6], parts[3], parts[4], parts[5], "GMT"] }
        guard parts.count == 8, parts[7] == "GMT", let month = months.firstIndex(of: parts[2]).map({ $0 + 1 }),
            let year = year(parts[3]), let day = number(parts[1], in: 1...length(of: month, in: year)),
            let hour = number(parts[4], in: 0...23), let minute = number(parts[5], in: 0...59),
            let second = number(parts[6], in: 0...60)
        else { return nil }
        let seconds = ((daysSince1970(year, month, day) * 24 + hour) * 60 + minute) * 60 + second
        return Timestamp(milliseconds: Int64(seconds) * 1_000)
    }

    private static func number(_ text: String, in range: ClosedRange<Int>) -> Int? {
        DeltaSeconds.parse(text).flatMap { range.contains($0) ? $0 : nil }
    }

    /// A year of two digits lies in 1970 to 2069. The form is obsolete, so a reading that depends on the clock is not
    /// worth it.
    private static func year(_ text: String) -> Int? {
        guard text.utf8.count == 2 else { return number(text, in: 1900...9999) }
        return number(text, in: 0...99).map { $0 < 70 ? 2_000 + $0 : 1_900 + $0 }
    }

    private static func length(of month: Int, in year: Int) -> Int {
        switch month {
        case 2: (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Counts the Gregorian calendar in years that begin in March, so that the leap day is the last day.
    private static func daysSince1970(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let shifted = month > 2 ? year : year - 1
        let era = shifted / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}
