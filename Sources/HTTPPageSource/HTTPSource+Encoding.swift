import PageModel
import Synchronization

// The encoding of a list whose header names ISO-8859-1, and whose bytes may be in UTF-8.
extension HTTPSource {
    /// Compares the encoding that the bytes of a page show with that of the list. Page one sets the encoding of the
    /// list again, because the origin may have changed.
    /// - Throws: `FetchFailure` with class `undecodable` for a later page that shows another encoding than the list.
    ///   One of the two encodings would be wrong for the text of the list.
    func confirmEncoding(_ response: HTTPPageResponse, isFirst: Bool) throws(FetchFailure) {
        guard let shown = BodyCharset.shown(by: response) else { return }
        let known = state.withLock { state -> BodyCharset.Shown in
            let known = isFirst ? shown : state.encoding ?? state.description?.encoding ?? shown
            state.encoding = known
            return known
        }
        guard known != shown else { return }
        throw FetchFailure(
            .undecodable, "the page is encoded in \(shown.rawValue), and the list in \(known.rawValue)",
            isRetryable: false, httpStatus: response.status)
    }
}
