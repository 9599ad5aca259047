public import PageModel

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension ListFailure: CustomStringConvertible, LocalizedError {
    /// One line: the part of the list that failed to load, and the reason.
    public var description: String {
        let part =
            switch kind {
            case .first: "the list failed to load"
            case .refresh: "the refresh of the list failed"
            case .next: "the next page failed to load"
            case .storage: "the store of the list failed"
            }
        guard failure.failureClass == .unconfirmed, let nextAttemptAt, kind == .refresh else {
            return "\(part): \(failure.message)"
        }
        // From this time on, a second answer can confirm page one (R20).
        return "\(part): \(failure.message), not before \(nextAttemptAt.timeOfDay)"
    }

    /// The same as `description`.
    public var errorDescription: String? { description }
}

extension Timestamp {
    /// The hour, minute and second of the day in UTC.
    fileprivate var timeOfDay: String {
        let second = ((milliseconds / 1_000) % 86_400 + 86_400) % 86_400
        return [second / 3_600, second / 60 % 60, second % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(
            separator: ":")
            + " UTC"
    }
}

extension FetchFailure: LocalizedError {
    /// The message of the failure.
    public var errorDescription: String? { message }
}

extension StorageError: LocalizedError {
    /// The message of the error.
    public var errorDescription: String? { message }
}

extension SourceDefinitionError: CustomStringConvertible, LocalizedError {
    /// The message of the error.
    public var description: String { message }
    /// The message of the error.
    public var errorDescription: String? { message }
}
