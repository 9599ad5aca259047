import PageModel
import PagedRepository

/// A simulated origin without time and threads: a plan, how far it has been carried out, and what was answered.
struct SimulatedServer: Sendable {
    let plan: OriginPlan
    private(set) var list: SimulatedList
    private(set) var given = AnswerRecord()
    private(set) var hits: [OriginHit: Int] = [:]
    /// The last request before which something changed; 0 when nothing has.
    private(set) var lastChange = 0
    /// Not yet happened, ascending by request.
    private var changes: ArraySlice<(request: Int, change: OriginChange)>
    /// Not yet happened, by request.
    private var faults: [Int: OriginFault]
    /// Until when every list seems empty.
    private var emptyUntil: Timestamp?
    /// The length of the list at first, and when each request was answered.
    private var lengths: [Int]

    init(_ plan: OriginPlan) {
        self.plan = plan
        list = SimulatedList(count: plan.count, identity: plan.identity)
        lengths = [list.count]
        var changes: [(request: Int, change: OriginChange)] = []
        faults = [:]
        // The sort is stable.
        for event in plan.events.sorted(by: { $0.request < $1.request }) {
            switch event.happening {
            case .change(let change): changes.append((event.request, change))
            case .fault(let fault): faults[event.request] = faults[event.request] ?? fault
            }
        }
        self.changes = changes[...]
    }

    /// Nothing happens any more.
    mutating func settle() {
        changes = []
        faults = [:]
        emptyUntil = nil
    }

    /// Whether everything planned has happened.
    var isQuiet: Bool { changes.isEmpty && faults.isEmpty }

    /// Answers the request with this number. Requests may be answered in another order than they are numbered in.
    mutating func answer(_ request: PageRequest, number: Int, at now: Timestamp?) throws(FetchFailure) -> PageAnswer {
        while let next = changes.first, next.request <= number {
            changes.removeFirst()
            guard list.apply(next.change) else { continue }
            note(next.change.hit)
            lastChange = number
        }
        lengths.append(list.count)
        let fault = faults.removeValue(forKey: number)
        if let failure = fault.flatMap({ failure(for: $0, request) }) { throw failure }
        if case .emptyAnswers(let duration) = fault, let now { emptyUntil = now + duration }
        if isEmpty(fault, at: now) {
            note(fault == .emptyAnswer ? .emptyAnswer : .emptyMinute)
            return .page(FetchedPage(content: PageContent(), total: .exact(0), hasMore: plan.saysHasMore ? false : nil))
        }
        let address: OriginAddress
        do throws(FetchFailure) {
            address = try OriginAddress(request, plan, list)
        } catch {
            note(.cursorUnknown)
            throw error
        }
        return answer(request, number, address, isShort: fault == .shortPage)
    }

    /// Whether this answer is that of an origin in a bad minute.
    private func isEmpty(_ fault: OriginFault?, at now: Timestamp?) -> Bool {
        if let now, let emptyUntil, now < emptyUntil { return true }
        return switch fault {
        case .emptyAnswer, .emptyAnswers: true
        default: false
        }
    }

    private mutating func failure(for fault: OriginFault, _ request: PageRequest) -> FetchFailure? {
        switch fault {
        case .transport:
            note(.transport)
            return FetchFailure(.transport, "the origin is not heard", isRetryable: true)
        case .timeout:
            note(.timeout)
            return FetchFailure(.timeout, "no answer in time", isRetryable: true)
        case .tooManyRequests(let pause):
            note(.tooManyRequests)
            return .status(429, retryAfter: pause)
        case .internalError:
            note(.internalError)
            return .status(500)
        case .unavailable:
            note(.unavailable)
            return .status(503)
        case .cursorExpired(let status):
            guard case .cursor = request.target else { return nil }
            note(.cursorExpired)
            return .status(status, message: "the cursor has expired")
        case .emptyAnswer, .emptyAnswers, .shortPage:
            return nil
        }
    }

    private mutating func answer(
        _ request: PageRequest, _ number: Int, _ address: OriginAddress, isShort: Bool
    ) -> PageAnswer {
        noteFeatures(of: request, address)
        if address.start >= list.count, address.start > 0 {
            guard plan.pastEnd == .emptyPage || plan.style == .keyset else {
                note(.pastEnd)
                return .pastEnd
            }
            note(.pastEndEmpty)
        }
        let start = min(address.start, list.count)
        let whole = start..<min(start + address.size, list.count)
        let part = isShort ? start..<start + (whole.count + 1) / 2 : whole
        if part != whole {
            note(.shortPage)
            if plan.style == .link { note(.shortPageSkipped) }
        }
        var page = FetchedPage(
            content: list.content(part), total: plan.totals.report(lengths, request: number, seed: plan.seed),
            next: address.next(behind: part, plan, list), hasMore: plan.saysHasMore ? part.upperBound < list.count : nil
        )
        if page.total != .exact(list.count), let hit = plan.totals.hit { note(hit) }

        // Half a page is not what a tag could stand for.
        if part == whole, let tag = validator(of: page, request) {
            if isNotModified(request, tag) {
                note(.notModified)
                if given.total(with: tag) != page.total { note(.notModifiedTotalChanged) }
                return .notModified(
                    total: plan.validators == .totalOnNotModified ? page.total : .unknown, validator: tag)
            }
            page.validator = tag
        }
        if given.add(page) { note(.idTwice) }
        return .page(page)
    }

    // MARK: What happened

    mutating func note(_ hit: OriginHit) { hits[hit, default: 0] += 1 }

    private mutating func noteFeatures(of request: PageRequest, _ address: OriginAddress) {
        if let size = request.size {
            if size > max(plan.largestPage, 1) { note(.clamped) }
            if plan.style == .page, size != plan.usualSize { note(.sizeIgnored) }
        }
        if case .behind(let key) = address.token, !list.entries.contains(where: { $0.key == key }) { note(.keyGone) }
    }
}
