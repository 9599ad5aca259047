import PageModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension FetchFailure {
    /// The failure that the ledger records for an error of a source: the error itself if it is a `FetchFailure`, and
    /// otherwise a retryable transport failure that names the type of the error.
    /// - Parameters:
    ///   - error: the error that the source threw.
    ///   - keepsWords: whether the message contains the error's own text. Such a text may contain user data.
    init(thrownBySource error: any Error, keepsWords: Bool) {
        if let failure = error as? FetchFailure {
            self = failure
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

extension FetchFailure {
    /// The failure of a call whose list was removed meanwhile.
    static var purged: FetchFailure {
        FetchFailure(.purged, "the list was removed while it was fetched", isRetryable: true)
    }
}
