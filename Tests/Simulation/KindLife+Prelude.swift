import PageModel
import PagedRepository
import PagedRepositoryTesting

/// The part of a list's life before its origin is quiet.
extension KindLife {
    func prelude() async throws {
        switch plan.kind {
        case .firstContact, .long: try await sync()
        case .feed: try await download()
        case .sweeps: try await sweeps()
        case .large:
            try await sync()
            try await anything(runs: 1)
        case .sizes: try await anything(runs: number(3...7))
        case .clocks: try await days()
        case .ordinary, .hidden, .overlapping, .sprouting, .miscounted, .window, .endless, .shuffled, .trailing,
            .replicas, .uncounted, .rewritten, .echoing:
            // In half of the lives all runs are complete, so that every finding concerns the origin.
            if number(0...1) == 0 {
                for _ in 0..<number(1...3) { try await sync() }
            } else {
                try await anything(runs: number(2...5))
            }
        }
    }

    /// Makes runs of any kind, some of them concurrent and some of them killed.
    private func anything(runs: Int) async throws {
        for _ in 0..<runs where outcome.violations.isEmpty {
            if plan.kind == .sizes { asked = drawnSize() }
            let (kind, place, pages) = (number(0...11), number(0...max(plan.count, 1)), number(1...12))
            let concurrency = number(0...2) == 0 ? 4 : 1
            let crowd = number(0...3) == 0 ? 2 : 1
            let (dies, calls) = (number(0...5) == 0, number(0...60))
            let isPatient = number(0...1) == 0
            func describe(_ options: inout SyncOptions) {
                options.concurrency = concurrency
                options.retryWaitBudget = .seconds(isPatient ? 600 : 30)
                switch kind {
                case 0: options.work = .refresh
                case 1: options.work = .sweep
                case 2: options.work = .next
                case 3: options.work = .positions(place..<place + 3 * plan.pageSize)
                default: break
                }
                if kind < 5 { options.maxPages = pages }
            }
            if dies { await die(after: calls, describe) } else { try await sync(crowd: crowd, describe) }
        }
    }

    /// Makes one download. A download may take half as many requests more than one without a cache.
    private func download() async throws {
        try await sync()
        let (taken, naive) = (origin.usage.requests, await NaiveWalk.requests(plan))
        if taken > naive * 3 / 2 + 12 {
            find("Economy: \(taken) requests for the first load, \(naive) without a cache")
        }
    }

    /// Makes sweeps that fail once or are interrupted, with or without a change before them.
    private func sweeps() async throws {
        try await sync()
        for _ in 0..<number(1...3) where outcome.violations.isEmpty {
            switch number(0...3) {
            case 0: origin.add(.change(.edit(at: .number(number(0...max(plan.count - 1, 0)), of: plan.count))))
            case 1: origin.add(.change(.move(from: .end, to: .middle)), after: number(1...4))
            default: break
            }
            let (isCut, isPatient, place) = (number(0...1) == 0, number(0...1) == 0, number(1...12))
            if !isCut {
                let faults: [OriginFault] = [.transport, .timeout, .internalError, .unavailable]
                origin.add(.fault(faults[number(0...3)]), after: place)
            }
            try await sync { options in
                options.work = .sweep
                options.retryWaitBudget = isPatient ? .seconds(600) : .zero
                if isCut { options.maxPages = place }
            }
        }
    }

    /// Makes runs hours and days apart, with leases of any length. Killed processes leave some of the leases behind.
    private func days() async throws {
        for _ in 0..<number(2...5) where outcome.violations.isEmpty {
            let lease = [Duration.milliseconds(1), .seconds(60), .seconds(7_200), .seconds(90_000)][number(0...3)]
            let patience = [Duration.zero, .seconds(30), .seconds(40_000)][number(0...2)]
            let (dies, calls) = (number(0...3) == 0, number(0...40))
            func describe(_ options: inout SyncOptions) {
                options.lease = lease
                options.retryWaitBudget = patience
            }
            if dies {
                await die(after: calls, describe)
            } else {
                try await sync(after: .seconds(3_600 * number(1...72)), describe)
            }
        }
    }
}
