import PageModel
import PagedRepository

/// A simulated origin without time and threads: a plan, its progress, and the answers so far.
struct SimulatedServer: Sendable {
    let plan: OriginPlan
    private(set) var list: SimulatedList
    private(set) var given = AnswerRecord()
    private(set) var occurrences: [OriginOccurrence: Int] = [:]
    /// The number of times that each effect of an unusual property occurred.
    private(set) var effects: [OriginEffect: Int] = [:]
    /// The number of the last request before which the list changed; 0 without a change.
    private(set) var lastChange = 0
    /// The changes that have not happened yet, ascending by request.
    private var changes: ArraySlice<(request: Int, change: OriginChange)>
    /// The faults that have not happened yet, by request.
    private var faults: [Int: OriginFault]
    /// The time until which the list appears empty.
    private var emptyUntil: Timestamp?
    /// The length of the list as totals count it: at first, and at the answer to each request.
    private var lengths: [Int]
    /// The list before the last change, while a replica still serves it.
    private var older: SimulatedList?
    /// The number of requests that were answered or have failed.
    private var answered = 0

    init(_ plan: OriginPlan) {
        self.plan = plan
        list = SimulatedList(plan)
        lengths = [plan.behaviour.countsHidden ? list.count : list.shownCount]
        var changes: [(request: Int, change: OriginChange)] = []
        faults = [:]
        // The sort is stable.
        for event in plan.events.sorted(by: { $0.request < $1.request }) {
            switch event.kind {
            case .change(let change): changes.append((event.request, change))
            case .fault(let fault): faults[event.request] = faults[event.request] ?? fault
            }
        }
        self.changes = changes[...]
    }

    /// Cancels all events that have not happened yet.
    mutating func cancelEvents() {
        changes = []
        faults = [:]
        emptyUntil = nil
        older = nil
    }

    /// Adds an event, after the planned changes before the same request. A fault is ignored if the request has one
    /// already.
    mutating func add(_ event: OriginEvent) {
        switch event.kind {
        case .change(let change):
            let index = changes.firstIndex { $0.request > event.request } ?? changes.endIndex
            changes.insert((event.request, change), at: index)
        case .fault(let fault): faults[event.request] = faults[event.request] ?? fault
        }
    }

    /// Whether no event is still to come.
    var isQuiet: Bool { changes.isEmpty && faults.isEmpty }

    /// Answers the request with this number. Requests may be answered in another order than that of their numbers.
    mutating func answer(_ request: PageRequest, number: Int, at now: Timestamp?) throws(FetchFailure) -> PageAnswer {
        while let next = changes.first, next.request <= number {
            changes.removeFirst()
            let before = list
            guard list.apply(next.change) else { continue }
            note(next.change.occurrence)
            if plan.behaviour.replicaLag > 0, lastChange != number { older = before }
            lastChange = number
        }
        let list = view(number)
        lengths.append(plan.behaviour.countsHidden ? list.count : list.shownCount)
        let fault = faults.removeValue(forKey: number)
        if let failure = fault.flatMap({ failure(for: $0, request) }) { throw failure }
        if case .emptyAnswers(let duration) = fault, let now { emptyUntil = now + duration }
        if isEmpty(fault, at: now) {
            note(fault == .emptyAnswer ? .emptyAnswer : .emptyMinute)
            return .page(FetchedPage(content: PageContent(), total: .exact(0), hasMore: plan.saysHasMore ? false : nil))
        }
        var address: OriginAddress
        do throws(FetchFailure) {
            address = try OriginAddress(request, plan, list)
        } catch {
            note(.cursorUnknown)
            throw error
        }
        if let effect = address.turn(back: list, plan) { note(effect) }
        if let window = plan.behaviour.window, address.start >= window, plan.behaviour.refusesBehindWindow {
            note(.refusedBehindWindow)
            throw .status(422, message: "only the first \(window) items can be fetched")
        }
        return answer(request, number, address, list, fault)
    }

    /// Returns the list as the answering replica has it.
    private mutating func view(_ number: Int) -> SimulatedList {
        answered += 1
        if let older, answered.isMultiple(of: 2), number < lastChange + plan.behaviour.replicaLag {
            note(.behind)
            return older
        }
        guard plan.behaviour.order == .everywhere else { return list }
        note(.reordered)
        return list.reordered(number)
    }

    /// Whether the answer appears empty because of a fault.
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
            return FetchFailure(.transport, "the origin does not answer", isRetryable: true)
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
        case .emptyAnswer, .emptyAnswers, .shortPage, .repeatedFirstItem:
            return nil
        }
    }

    private mutating func answer(
        _ request: PageRequest, _ number: Int, _ address: OriginAddress, _ list: SimulatedList, _ fault: OriginFault?
    ) -> PageAnswer {
        noteFeatures(of: request, address)
        let length = min(list.count, plan.behaviour.window ?? .max)
        if address.start >= length, address.start > 0 {
            guard plan.pastEnd == .emptyPage || plan.style == .keyset || length < list.count else {
                note(.pastEnd)
                return .pastEnd
            }
            note(.pastEndEmpty)
            if length < list.count { note(.emptyBehindWindow) }
        }
        let start = min(address.start, length)
        let whole = start..<min(start + address.size, length)
        let isShort = fault == .shortPage
        let part = isShort ? start..<start + (whole.count + 1) / 2 : whole
        if part != whole {
            note(.shortPage)
            if plan.style == .link { note(.shortPageSkipped) }
        }
        let next = address.next(behind: part, plan, list, length: length)
        let more = plan.behaviour.tail == .plain ? part.upperBound < length : next != nil
        let content = content(part, of: list, number, isTwice: fault == .repeatedFirstItem)
        var page = FetchedPage(
            content: content, total: plan.totals.report(lengths, request: number, seed: plan.seed), next: next,
            hasMore: plan.saysHasMore ? more : nil)
        if page.total != .exact(list.count), let occurrence = plan.totals.occurrence { note(occurrence) }

        // Half a page has no tag, and neither has a page with a repeated item.
        if part == whole, fault != .repeatedFirstItem, let tag = validator(of: page, request) {
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

    /// Returns the items of an answer, after the effects of the behaviour.
    private mutating func content(
        _ part: Range<Int>, of list: SimulatedList, _ number: Int, isTwice: Bool
    ) -> PageContent {
        var items = list.content(part, answer: number).items
        if items.count < part.count { note(items.isEmpty ? .emptied : .hidden) }
        if plan.behaviour.order == .withinPages {
            note(.reordered)
            var random = SeededGenerator(seed: plan.seed, stream: UInt64(number))
            for index in items.indices.dropFirst().reversed() { items.swapAt(index, random.number(below: index + 1)) }
        }
        if isTwice, let first = items.first {
            note(.twice)
            items.append(first)
        }
        return PageContent(items)
    }

    // MARK: Records

    mutating func note(_ occurrence: OriginOccurrence) { occurrences[occurrence, default: 0] += 1 }
    mutating func note(_ effect: OriginEffect) { effects[effect, default: 0] += 1 }

    private mutating func noteFeatures(of request: PageRequest, _ address: OriginAddress) {
        if let size = request.size {
            if size > max(plan.largestPage, 1) { note(.clamped) }
            if plan.style == .page, size != plan.usualSize { note(.sizeIgnored) }
        }
        if case .behind(let key) = address.token, !list.entries.contains(where: { $0.key == key }) { note(.keyGone) }
    }
}
