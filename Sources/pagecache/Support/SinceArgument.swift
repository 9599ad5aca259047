#if Tool
import ArgumentParser
import PageModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The start of a comparison: `last`, a duration before now, a time, or a version.
enum SinceArgument: ExpressibleByArgument, Equatable {
    /// The start of the last sync that changed an item.
    case last
    case age(Duration)
    case time(Timestamp)
    case version(ContentVersion)

    init?(argument: String) {
        if argument == "last" {
            self = .last
        } else if argument.hasPrefix("@") {
            guard let version = VersionText.parse(argument.dropFirst()) else { return nil }
            self = .version(version)
        } else if let age = DurationArgument(argument: argument) {
            self = .age(age.duration)
        } else if let moment = SinceArgument.moment(argument) {
            self = .time(moment)
        } else {
            return nil
        }
    }

    /// Parses a time in RFC 3339, or a date, which means the beginning of that day in UTC. Returns nil for another
    /// text.
    private static func moment(_ text: String) -> Timestamp? {
        let styles = [
            Date.ISO8601FormatStyle(includingFractionalSeconds: true), Date.ISO8601FormatStyle(),
            Date.ISO8601FormatStyle().year().month().day(),
        ]
        guard let date = styles.lazy.compactMap({ try? Date(text, strategy: $0) }).first else { return nil }
        let milliseconds = date.timeIntervalSince1970 * 1_000
        guard abs(milliseconds) < 1e15 else { return nil }
        return Timestamp(milliseconds: Int64(milliseconds))
    }
}

/// A content version as text: the counter, and the stamp in 16 hexadecimal digits, as in `17-00c0ffee00c0ffee`.
enum VersionText {
    static func text(_ version: ContentVersion) -> String {
        let stamp = String(version.stamp, radix: 16)
        return "\(version.counter)-\(String(repeating: "0", count: 16 - stamp.count))\(stamp)"
    }

    static func parse(_ text: some StringProtocol) -> ContentVersion? {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let counter = Int(parts[0]), counter > 0, parts[1].count == 16,
            let stamp = UInt64(parts[1], radix: 16)
        else { return nil }
        return ContentVersion(counter: counter, stamp: stamp)
    }
}
#endif
