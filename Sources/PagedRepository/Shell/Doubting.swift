import PageModel

/// R20: what would take much away is asked once more before it is believed.
extension SyncRun {
    func doubt(_ page: FetchedPage, _ list: ListOutline) -> Doubt.Verdict {
        Doubt(page).verdict(
            list.ledger.first { $0.offset == 0 }, askedAt: asked.at, now: list.readAt,
            pause: page.content.isEmpty ? options.emptyConfirmationPause : options.confirmationPause)
    }

    /// R20: page one is not believed yet. A confirmation from the same bad moment would be worth nothing.
    func setAside(_ page: FetchedPage, _ list: ListOutline) async throws(StorageError) {
        guard case .until(let moment) = doubt(page, list) else { return }
        let failure = Doubt(page).failure
        headFailure = failure
        asksUnconditionally = true
        let pause = max(moment - list.readAt, .zero)
        progress(.failed(offset: 0, failure, nextAttemptAt: clock.now() + pause))
        try await record(
            Doubt(page).edits(list.ledger.first { $0.offset == 0 }, pause: pause, lease: leases[0]), for: list.record.id
        )
        hasEndedLease = true
        // No sooner than the storage, which counts from what it has just recorded.
        queue.add(.head, at: clock.now() + pause)
    }

    /// R20: the list ends at a place where more is held, or is expected. Somebody who says so in a bad minute has no
    /// page one either: that is asked first, then the same place once more.
    func askWitness(for target: FetchTarget, end: Int) {
        // Page one is on its way: asked for twice at a time, it would be refused by our own lease. This place has its
        // turn later.
        guard pass.awaitsWitness == nil else { return }
        pass.witnessed.insert(Pass.Claim(place: target.offset, end: end))
        pass.awaitsWitness = target
        queue.clear()
        askAgain()
    }

    /// Whether this place was asked for before, said the same, and page one has answered since.
    func isWitnessed(_ place: Int, end: Int) -> Bool {
        pass.witnessed.contains(Pass.Claim(place: place, end: end)) && pass.awaitsWitness == nil
    }

    /// Page one is there, and as it was: now the place in doubt.
    func witness(isSame: Bool) {
        guard let target = pass.awaitsWitness else { return }
        pass.awaitsWitness = nil
        if isSame { queue.add([target]) } else { pass.mustRestart = true }
    }
}

extension FetchedPage {
    /// R20: where a total was found to be wrong, no exact one says where the list ends.
    func knowing(_ known: Total) -> FetchedPage {
        guard case .estimate = known, let claimed = total.exactCount else { return self }
        var page = self
        page.total = .estimate(claimed)
        return page
    }

    /// R20: a total that was found to be wrong, and is still less than what is held, counts nothing.
    func trusted(against list: ListOutline) -> FetchedPage {
        trusted(against: list.record.total, heldEnd: list.coverage.runs.last?.upperBound ?? 0)
    }

    /// - Parameters:
    ///   - known: what the list's total is taken to be.
    ///   - heldEnd: the position behind the last held item.
    func trusted(against known: Total, heldEnd: Int) -> FetchedPage {
        // R24: whoever says that it goes on is believed, and a total that says otherwise is not.
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
