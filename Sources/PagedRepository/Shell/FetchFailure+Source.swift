import PageModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension FetchFailure {
    /// Creates the failure that the ledger records for an error of a source. A `FetchFailure` is recorded as it is. A
    /// `DecodingError` is a permanent failure of class `undecodable`, and names the coding path. Any other error is a
    /// retryable transport failure, and names the type of the error.
    /// - Parameters:
    ///   - error: the error that the source threw.
    ///   - keepsWords: whether the message of a transport failure contains the error's own text, at most 200
    ///     characters. Such a text may contain user data.
    init(thrownBySource error: any Error, keepsWords: Bool) {
        if let failure = error as? FetchFailure {
            self = failure
            return
        }
        if let error = error as? DecodingError {
            // A retry would receive the same body (R27). The message names no value, because it is stored in the
            // ledger.
            self.init(.undecodable, error.place, isRetryable: false)
            return
        }
        var message = "the source threw \(type(of: error))"
        if keepsWords {
            // One line for tables and logs, however long the text is.
            let text = (error as? any LocalizedError)?.errorDescription ?? "\(error)"
            let words = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            message += ": \(words.prefix(200))"
        }
        self.init(.transport, message, isRetryable: true)
    }
}

extension DecodingError {
    /// The coding path at which the answer does not decode, without any value.
    fileprivate var place: String {
        let (path, reason) =
            switch self {
            case .keyNotFound(let key, let context): (context.codingPath + [key], "is missing")
            case .typeMismatch(let type, let context): (context.codingPath, "is no \(type)")
            case .valueNotFound(let type, let context): (context.codingPath, "has no value, and \(type) is expected")
            case .dataCorrupted(let context): (context.codingPath, "does not decode")
            @unknown default: ([any CodingKey](), "does not decode")
            }
        let text = path.reduce(into: "") { text, key in
            text += key.intValue.map { "[\($0)]" } ?? (text.isEmpty ? key.stringValue : ".\(key.stringValue)")
        }
        return text.isEmpty
            ? "the answer does not decode to the expected type"
            : "the answer does not decode to the expected type: \(text.prefix(200)) \(reason)"
    }
}

extension FetchFailure {
    /// The failure of a list that changed with each attempt to read it.
    static let keptChanging = FetchFailure(
        .unconfirmed, "the list kept changing while it was read; some items may be missing", isRetryable: true)
    static let noPageOne = FetchFailure(.rejected, "the origin has no page one", isRetryable: false)
    /// The failure of a list whose origin counts items and returned none.
    static func withoutItems(counted: Int) -> FetchFailure {
        FetchFailure(.unconfirmed, "the origin counts \(counted) items and returned none", isRetryable: true)
    }
    /// The failure of a load that received pages without new items, although the origin reports more.
    static func withoutItems(pages: Int) -> FetchFailure {
        FetchFailure(
            .unconfirmed, "\(pages) consecutive pages had no new items, although the origin reports more",
            isRetryable: true)
    }

    /// The failure of a load after the only page of an origin, which announces more items.
    /// - Parameter isWhole: whether the load was a load of the whole list. Another such load would end in the same way.
    static func contradicted(isWhole: Bool) -> FetchFailure {
        let why = "the origin's answers contradict each other"
        if isWhole { return FetchFailure(.loop, why, isRetryable: false) }
        return FetchFailure(.unconfirmed, "\(why); no further items were received", isRetryable: true)
    }

    /// The failure of a load whose page budget left no request for a missing page.
    static let pageBudgetReached = FetchFailure(
        .limitExceeded, "the load ends with the last page that SyncOptions.maxPages allows", isRetryable: false)

    /// The failure of a load after items whose bytes are damaged in the store, although the items were fetched again.
    static func damaged(at position: Int) -> FetchFailure {
        FetchFailure(
            .storage, "the stored items from position \(position) on are damaged, and the list ends there",
            isRetryable: false)
    }

    /// The failure of a call whose list was removed meanwhile.
    static var purged: FetchFailure {
        FetchFailure(.purged, "the list was removed while it was fetched", isRetryable: true)
    }
}
