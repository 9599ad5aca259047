import PageModel

/// Answers of the probes that proved how the origin pages. The run that follows needs the same pages, and does not
/// request them again.
struct ReadyAnswers {
    /// How long the answers stay usable after the last one was added.
    static let lifetime = Duration.seconds(5)
    /// The largest total size of the kept bodies, in bytes: 4 MiB.
    static let mostBytes = 4 << 20

    private var answers: [String: HTTPPageResponse] = [:]
    private var bytes = 0
    private var until: Timestamp?

    mutating func keep(_ response: HTTPPageResponse, for url: OriginURL, now: Timestamp) {
        remove(url)
        guard bytes + response.body.count <= ReadyAnswers.mostBytes else { return }
        bytes += response.body.count
        answers[url.text] = response
        until = now + ReadyAnswers.lifetime
    }

    /// Removes and returns the answer for a URL. Returns nil when there is none, or it is too old.
    mutating func take(_ url: OriginURL, now: Timestamp) -> HTTPPageResponse? {
        guard let until, now <= until else {
            self = ReadyAnswers()
            return nil
        }
        return remove(url)
    }

    @discardableResult
    private mutating func remove(_ url: OriginURL) -> HTTPPageResponse? {
        let answer = answers.removeValue(forKey: url.text)
        bytes -= answer?.body.count ?? 0
        return answer
    }
}
