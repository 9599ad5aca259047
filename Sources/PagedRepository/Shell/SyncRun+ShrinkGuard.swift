import PageModel

/// Answers that would remove much of a list are requested once more before the run believes them (R20).
extension SyncRun {
    func shrinkConfirmation(_ page: FetchedPage, _ list: ListOutline) -> ShrinkGuard.Confirmation {
        ShrinkGuard(page).confirmation(
            list.ledger.first { $0.offset == 0 }, askedAt: leases.requestState.at, now: list.readAt,
            pause: page.content.isEmpty ? options.emptyConfirmationPause : options.confirmationPause)
    }

    /// Records that page one is not believed yet, and schedules its next fetch (R20). A second answer at the same
    /// moment would prove nothing.
    func deferPageOne(_ page: FetchedPage, _ list: ListOutline) async throws(StorageError) {
        guard case .until(let moment) = shrinkConfirmation(page, list) else { return }
        let failure = ShrinkGuard(page).failure
        failures.head = failure
        belief.drift.asksUnconditionally = true
        let pause = max(moment - list.readAt, .zero)
        telemetry.progress(.failed(offset: 0, failure, nextAttemptAt: clock.now() + pause))
        try await record(
            ShrinkGuard(page).edits(list.ledger.first { $0.offset == 0 }, pause: pause, lease: leases[0]),
            for: list.record.id
        )
        leases.end()
        // The pause starts after the record is written, so that the fetch is not earlier than the recorded time.
        queue.add(.firstPage, at: clock.now() + pause)
    }

    /// Handles an answer that says that the list ends before held or expected positions (R20). An origin that claims a
    /// wrong end because it is failing usually fails for page one, too. So page one is requested first, and then the
    /// same position once more.
    func requestWitness(for target: FetchTarget, end: Int) {
        // If page one is already in flight, this run's own lease prevents a second request for it. The position is then
        // requested later.
        guard pass.witness.ask(for: target, end: end) else { return }
        queue.clear()
        askAgain()
    }

    /// Requests the position of an unconfirmed end again after page one has arrived unchanged. If page one has changed,
    /// the pass restarts.
    func witnessArrived(isSame: Bool) {
        guard let target = pass.witness.take() else { return }
        if isSame { queue.add([target]) } else { pass.mustRestart = true }
    }
}

extension FetchedPage {
    /// Returns the page with its exact total as an estimate, if the known total is already an estimate. A total that
    /// was once wrong does not prove where the list ends (R20).
    func knowing(_ known: ListTotal) -> FetchedPage {
        guard case .estimate = known, let claimed = total.exactCount else { return self }
        var page = self
        page.total = .estimate(claimed)
        return page
    }

    /// Returns the page with its total as an estimate, if the known total is an estimate and the new total is below the
    /// held end (R20). `hasMore` takes precedence over a total (R24).
    func trusted(against list: ListOutline) -> FetchedPage {
        trusted(against: list.record.total, heldEnd: list.heldEnd)
    }

    /// - Parameters:
    ///   - known: the total that the list currently has.
    ///   - heldEnd: the position after the last held item.
    func trusted(against known: ListTotal, heldEnd: Int) -> FetchedPage {
        // The origin says that the list continues, which takes precedence over a contradicting total (R24).
        if hasMore ?? (next != nil), let claimed = total.exactCount, claimed <= content.count {
            var page = self
            page.total = .estimate(content.count + 1)
            return page
        }
        guard case .estimate = known, let claimed = total.exactCount, claimed < heldEnd else { return self }
        var page = self
        page.total = .estimate(claimed)
        return page
    }
}
