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
            }
        return "\(part): \(failure.message)"
    }

    /// The same as `description`.
    public var errorDescription: String? { description }
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
