#if Tool
import PageModel
import PagedRepository

// Failures, and their consequences.
extension Explanation {
    /// Reports failures in groups: failures with the same cause and the same kind of next step share a sentence. The
    /// group with the soonest next attempt comes first.
    mutating func addFailures(_ failures: [LedgerEntry]) {
        var groups: [[LedgerEntry]] = []
        for entry in failures {
            if let index = groups.firstIndex(where: { $0[0].hasSameCause(as: entry) }) {
                groups[index].append(entry)
            } else {
                groups.append([entry])
            }
        }
        for group in groups {
            add(.failure, cause(of: group))
            if let hint = hint(group[0]) { add(.failure, hint) }
            add(.next, future(of: group))
        }
    }

    /// Reports the pages in flight in two groups: those with a valid lease, and those whose process has ended.
    mutating func addFetching(_ entries: [LedgerEntry]) {
        let leased = entries.filter { $0.leaseExpiresAt.map { $0 > now } ?? false }
        let abandoned = entries.filter { $0.leaseExpiresAt.map { $0 <= now } ?? true }
        if !leased.isEmpty { add(.fetching, fetching(leased)) }
        if !abandoned.isEmpty {
            let isOne = Set(abandoned.map(\.leaseOwner)).count == 1
            add(
                .fetching,
                """
                \(isOne ? "A process ended while it" : "Processes ended while they") fetched \(pages(abandoned)). The next '\(sync)' fetches \
                \(abandoned.count == 1 ? "it" : "them") at once.
                """)
        }
    }

    private func fetching(_ group: [LedgerEntry]) -> String {
        let since = group.compactMap(\.lastAttemptAt).min().map { TimeText.age(now - $0) }
        let expiry = TimeText.until((group.compactMap(\.leaseExpiresAt).max() ?? now) - now)
        guard group.count > 1 else {
            let sent = since.map { "; the request was sent \($0) ago" } ?? ""
            return """
                \(page(group[0])) is being fetched\(sent). If the fetching process ends first, another process can \
                fetch the page in \(expiry) at the latest.
                """
        }
        let sent = since.map { "; the first request was sent \($0) ago" } ?? ""
        return """
            \(pages(group)) are being fetched\(sent). If a fetching process ends first, another process can fetch its \
            pages in \(expiry) at the latest.
            """
    }

    /// The pages of a group inside a sentence.
    private func pages(_ group: [LedgerEntry]) -> String {
        guard group.count > 1, let first = group.map(\.offset).min() else {
            let name = page(group[0])
            return name.prefix(1).lowercased() + name.dropFirst()
        }
        return "\(SizeText.count(group.count)) pages (the first at position \(SizeText.count(first)))"
    }

    private func page(_ entry: LedgerEntry) -> String {
        guard entry.offset == 0 else { return "The page at position \(SizeText.count(entry.offset))" }
        // The fetch record of page one also holds a failure of the search for changes.
        return isCheck(entry) ? "The check for changes" : "Page one"
    }

    /// Whether page one was validated after the failed attempt began. The failure then belongs to another request of
    /// the run that validated page one.
    private func isCheck(_ entry: LedgerEntry) -> Bool {
        guard entry.offset == 0, entry.state.isFailure, let confirmedAt = list.record.validatedAt,
            let begun = entry.lastAttemptAt
        else { return false }
        return confirmedAt >= begun
    }

    private func cause(of group: [LedgerEntry]) -> String {
        let first = group.min { $0.offset < $1.offset } ?? group[0]
        let message = first.failure?.shownMessage ?? "the reason is not recorded"
        let attempts = group.map(\.attempts).max() ?? 0
        // A statement about several pages must be true of each.
        let isSame = group.allSatisfy { $0.attempts == attempts }
        let number = "\(attempts) \(attempts == 1 ? "attempt" : "attempts")"
        let tries = isSame ? number : "Up to \(number) for a page so far"
        let firstTry = isSame && attempts == 1 ? ", " : "; the first failed "
        let since =
            group.compactMap(\.firstFailureAt).min()
            .map { "\(firstTry)\(TimeText.age(now - $0)) ago (\(TimeText.rfc3339($0)))" } ?? ""
        let who =
            group.count == 1
            ? "\(page(first)) fails"
            : "\(SizeText.count(group.count)) pages fail, the first at position \(SizeText.count(first.offset))"
        return "\(who): \(message). \(tries)\(since)."
    }

    /// The meaning of a failure's class, because its message may not explain it.
    private func hint(_ entry: LedgerEntry) -> String? {
        if let until = entry.retryAfterUntil, until > now {
            let wish = "The origin asks for no request before \(TimeText.rfc3339(until)) (Retry-After)"
            guard let reason = entry.reasonToRetryEarlier, entry.nextAttemptAt ?? now > now else { return "\(wish)." }
            return "\(wish). The next attempt is earlier, because \(reason)."
        }
        return switch entry.failure?.failureClass {
        case .forbidden?: "The origin rejected the request; give a credential with --bearer-env or --header-env."
        case .undecodable?:
            """
            The answer is not JSON, or has no items at the expected place. 'pagecache probe' shows what it contains, and --items selects the place.
            """
        case .limitExceeded?: "The answer exceeds a limit, or leads to another origin. No part of it was stored."
        case .unconfirmed?:
            "The answer would remove most or all of the list. It is applied once the origin repeats it."
        case .loop?: "The origin repeats itself: a cursor repeats, or pages have no new items."
        default: nil
        }
    }

    /// The option that a retry of a refused page needs. Empty for other failures.
    private func credential(_ entry: LedgerEntry) -> String {
        entry.failure?.failureClass == .forbidden ? " --bearer-env VAR" : ""
    }

    private func future(of group: [LedgerEntry]) -> String {
        let entry = group[0]
        let one = group.count == 1
        let what = one ? page(entry) : "These pages"
        guard !list.record.isDescriptionLost else { return "\(what) \(one ? "is" : "are") not tried before '\(sync)'." }
        if let next = group.compactMap(\.nextAttemptAt).min() {
            guard next > now else {
                let due =
                    now - next >= .seconds(1)
                    ? "\(one ? "has" : "have") been due for \(TimeText.age(now - next))"
                    : "\(one ? "is" : "are") due now"
                return """
                    \(what) \(due): the next 'pagecache sync --due' or a running service tries \
                    again; 'pagecache retry \(id)' does so now.
                    """
            }
            return """
                \(what) \(one ? "is" : "are") tried again in \(TimeText.until(next - now)), at \(TimeText.rfc3339(next)), by a \
                running service or by 'pagecache sync --due'; 'pagecache retry \(id)' tries now.
                """
        }
        switch entry.state {
        case .failedPermanent:
            let command = "pagecache retry \(id) --permanent\(credential(entry))"
            return """
                \(what) \(one ? "is" : "are") not retried automatically, because a retry would not help; '\(command)' \
                retries \(one ? "it" : "them").
                """
        case .failedRetryable, .pending, .inFlight, .ok:
            let used = "\(what) \(one ? "has" : "have") used all attempts."
            guard list.record.isPinned else {
                return "\(used) No retry is scheduled: the list is not pinned. 'pagecache retry \(id)' tries now."
            }
            return """
                \(used) 'pagecache sync --due' or a service tries again five minutes after the last attempt; \
                'pagecache retry \(id)' tries now.
                """
        }
    }
}

extension LedgerEntry {
    /// Why the next attempt is earlier than the origin asks for with `Retry-After` (R28). `nil` when it is not earlier.
    var reasonToRetryEarlier: String? {
        guard let until = retryAfterUntil, let next = nextAttemptAt, until - next >= .seconds(1) else { return nil }
        return "a list waits at most \(TimeText.age(RetrySchedule().longestRetryAfter)) for Retry-After"
    }

    fileprivate func hasSameCause(as other: LedgerEntry) -> Bool {
        state == other.state && failure?.failureClass == other.failure?.failureClass
            && failure?.message == other.failure?.message
            && (nextAttemptAt == nil) == (other.nextAttemptAt == nil)
            // Page one is separate, because other pages wait for it.
            && (offset == 0) == (other.offset == 0)
    }
}
#endif
