import PageModel

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
            let words = "\(error)".split(whereSeparator: \.isWhitespace).joined(separator: " ")
            message += ": \(words.prefix(200))"
        }
        self.init(.transport, message, isRetryable: true)
    }
}
