import PageModel
import PageStore
import PagedRepositoryTesting
import StorageSupport
import Testing

/// Runs the same random life in a durable storage and in memory. The two share no code and must return the same results
/// after every step. The short form runs 60 lives, PAGECACHE_SOAK=1 runs 2,000.
@Suite("Storages with the same behaviour")
struct DifferentialTests {
    private static let lives: [UInt64] = Soak.isOn ? Array(0..<2_000) : Array(Soak.seed..<Soak.seed + 60)

    @Test(
        "A durable storage agrees with the one in memory on commits, ledger, leases, evictions and notices",
        arguments: lives, StorageKind.durable)
    func agree(seed: UInt64, kind: StorageKind) async throws {
        var plans = RandomPlans(seed: seed)
        // Both storages use the same stamps, so that their versions agree, too (R51).
        let durable = try await Bench(kind, journal: JournalBound(bytes: 20_000), stamps: seed)
        let memory = try await Bench(.memory, journal: JournalBound(bytes: 20_000), stamps: seed)
        let query = durable.query
        #expect(memory.query == query)
        var (durableTokens, memoryTokens) = (TokenNames(), TokenNames())
        var told = durable.store.notices(of: nil).makeAsyncIterator()
        var expected = memory.store.notices(of: nil).makeAsyncIterator()
        var versions = [try await memory.list.contentVersion]
        for step in 0..<40 {
            // A storage records a read at most once a minute. With larger clock steps both storages record the same
            // reads.
            plans.clock += 61_000
            let before = try await memory.list
            let held = try #require(try await memory.store.window(of: query, 0..<100_000))
            _ = try await durable.store.window(of: query, 0..<100_000)
            let action = plans.action(on: before, held.parts.map { ($0.offset, $0.content) })
            let first = await RandomAnswer(of: action, by: durable.store, query, &durableTokens)
            let second = await RandomAnswer(of: action, by: memory.store, query, &memoryTokens)
            guard first == second else {
                Issue.record("\(kind), seed \(seed), step \(step), \(action): \(first) and \(second)")
                return
            }
            // Both storages notify this mark. The changes before it belong to the action.
            let mark = ListEdit.setSweep(SweepProgress(position: step, startedAt: noon))
            for bench in [durable, memory] { try await bench.commit([mark], at: plans.moment) }
            let (notices, wanted) = (await untilMark(&told), await untilMark(&expected))
            guard notices == wanted else {
                Issue.record("\(kind), seed \(seed), step \(step), \(action): notified \(notices) and \(wanted)")
                return
            }
            plans.granted = memoryTokens.tokens.count
            let names = [durableTokens, memoryTokens]
            guard try await compare(durable.store, memory.store, query, &plans, names) else {
                Issue.record("\(kind), seed \(seed), step \(step), after \(action)")
                return
            }
            versions.append(try await memory.list.contentVersion)
            let (since, limit) = (versions.randomElement(using: &plans.random) ?? .none, plans.number(0...9))
            let changes = try await durable.store.changes(of: query, since: since, limit: limit)
            #expect(
                changes == (try await memory.store.changes(of: query, since: since, limit: limit)),
                "seed \(seed), step \(step)")
        }
        #expect(try await durable.store.purge([query]) == memory.store.purge([query]))
    }

    /// Returns the changes before the mark in one list, because a durable storage evicts in several portions.
    private func untilMark(_ notices: inout AsyncStream<StorageNotice>.Iterator) async -> [ChangeSet.Change] {
        var changes: [ChangeSet.Change] = []
        while let notice = await notices.next(isolation: #isolation) {
            guard case .changed(let set) = notice else { continue }
            if set.changes == [.described] { return changes }
            changes += set.changes
        }
        return changes
    }

    private func compare(
        _ durable: any PageStorage, _ memory: any PageStorage, _ query: QueryID, _ plans: inout RandomPlans,
        _ names: [TokenNames]
    ) async throws -> Bool {
        let list = try await memory.outline(of: query)?.anonymous(names[1])
        let end = list?.pages.last?.range.upperBound ?? 0
        let lower = plans.number(0...end + 5)
        let range = lower..<lower + plans.number(0...50)
        let window = try await memory.window(of: query, 0..<100_000)
        let keys = Set(
            (window?.parts.flatMap { $0.content.identities.map(\.key) } ?? []).shuffled(using: &plans.random).prefix(20)
        )
        let moment = plans.moment
        let agrees = [
            try await durable.outline(of: query)?.anonymous(names[0]) == list,
            try await isStateKept(durable, query), try await isStateKept(memory, query),
            try await durable.summaries().map(\.bytes) == memory.summaries().map(\.bytes),
            try await durable.window(of: query, 0..<100_000) == window,
            try await durable.window(of: query, range) == memory.window(of: query, range),
            try await durable.excerpt(of: query, range)?.anonymous(names[0])
                == memory.excerpt(of: query, range)?.anonymous(names[1]),
            try await durable.locate(keys, in: query) == memory.locate(keys, in: query),
            try await durable.due(before: moment, limit: 3).map(\.entry.offset)
                == memory.due(before: moment, limit: 3).map(\.entry.offset),
        ]
        for (index, holds) in agrees.enumerated() { #expect(holds, "reading number \(index)") }
        return agrees.allSatisfy { $0 }
    }
}

extension DifferentialTests {
    /// Returns whether the state that each commit maintains matches the outline.
    private func isStateKept(_ storage: any PageStorage, _ query: QueryID) async throws -> Bool {
        guard let list = try await storage.outline(of: query),
            var state = try await storage.state(of: list.record.key)
        else { return false }
        let counted = ListState(list)
        #expect(state.pageOne?.identities?.count == counted.pageOne?.summary.count)
        state.pageOne?.identities = nil
        return state == counted
    }
}

extension ListOutline {
    /// Replaces the names of owners and the tokens, which differ between storages.
    fileprivate func anonymous(_ names: TokenNames) -> ListOutline {
        var list = self
        for index in list.ledger.indices where list.ledger[index].leaseOwner != nil {
            list.ledger[index].leaseOwner = "somebody"
            list.ledger[index].leaseToken = list.ledger[index].leaseToken.map(names.name)
        }
        return list
    }
}

/// The tokens that a storage issued, in the order of the grants. Plans name a token by the number of its grant, which
/// is the same in both storages.
struct TokenNames {
    var tokens: [LeaseToken] = []

    func name(_ token: LeaseToken) -> LeaseToken {
        LeaseToken(rawValue: -1 - Int64(tokens.firstIndex(of: token) ?? 1_000_000))
    }

    func names(_ tokens: Set<LeaseToken>) -> Set<LeaseToken> { Set(tokens.map(name)) }

    func token(_ name: LeaseToken) -> LeaseToken { tokens[Int(-1 - name.rawValue)] }

    /// Records the tokens of a grant, and returns the grant in comparable form.
    mutating func note(_ grant: LeaseGrant) -> LeaseGrant {
        var grant = grant
        tokens += grant.leases.map(\.token)
        grant.leases = grant.leases.map { Lease(offset: $0.offset, token: name($0.token)) }
        let list = grant.list?.anonymous(self)
        grant.list = list
        return grant
    }

    func translated(_ edit: LedgerEdit) -> LedgerEdit {
        switch edit {
        case .succeeded(let offset, let lease): .succeeded(offset: offset, lease: lease.map(token))
        case .failed(let offset, let failure, let pause, let lease):
            .failed(offset: offset, failure: failure, nextAttemptIn: pause, lease: lease.map(token))
        case .released(let offset, let lease): .released(offset: offset, lease: token(lease))
        case .deleted(let offset, let lease): .deleted(offset: offset, lease: lease.map(token))
        case .expedited: edit
        }
    }
}

/// An action that is applied to both storages.
enum RandomAction {
    case commit(CommitPlan, LeaseRequest?, at: Timestamp)
    case claim(LeaseRequest, at: Timestamp)
    case heartbeat(LeaseOwner, at: Timestamp)
    /// The machine restarts. Every earlier lease is void.
    case reboot
    case record([LedgerEdit], at: Timestamp)
    case evict(EvictionBudget, at: Timestamp)
}

enum RandomAnswer: Equatable {
    case receipt(CommitReceipt)
    case granted(LeaseGrant)
    case recorded(lost: Set<LeaseToken>)
    case held(Set<LeaseToken>)
    case rebooted
    case evicted(EvictionReport)
    case refused(StorageError.Code)

    init(of action: RandomAction, by storage: any PageStorage, _ query: QueryID, _ names: inout TokenNames) async {
        do throws(StorageError) {
            switch action {
            case .commit(var plan, let request, let now):
                storage.manualClock.set(to: now)
                plan.ledger = plan.ledger.map(names.translated)
                plan.requestLease = plan.requestLease.map(names.token)
                var receipt = try await storage.commit(plan, claiming: request)
                receipt.grant = receipt.grant.map { names.note($0) }
                receipt.lostLeases = names.names(receipt.lostLeases)
                self = .receipt(receipt)
            case .claim(let request, let now):
                self = .granted(names.note(try await storage.claim(request, of: query, at: now)))
            case .record(let edits, let now):
                self = .recorded(
                    lost: names.names(try await storage.record(edits.map(names.translated), for: query, at: now)))
            case .heartbeat(let owner, let now):
                storage.manualClock.set(to: now)
                self = .held(names.names(try await storage.heartbeat(owner, for: .seconds(200))))
            case .reboot:
                storage.manualClock.reboot()
                self = .rebooted
            case .evict(let budget, let now):
                self = .evicted(try await storage.evict(to: budget, exempt: [], at: now))
            }
        } catch {
            self = .refused(error.code)
        }
    }
}

/// A generator of plausible edits, and of some implausible ones.
struct RandomPlans {
    var random: SeededGenerator
    var clock = noon.milliseconds
    var moment: Timestamp { Timestamp(milliseconds: clock) }
    /// The number of leases granted so far.
    var granted = 0
    private var fresh = 0

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
    private mutating func coin() -> Bool { number(0...1) == 0 }

    private mutating func now() -> Timestamp {
        clock += Int64(number(0...50))
        return Timestamp(milliseconds: clock)
    }

    mutating func action(on list: ListOutline, _ held: [(offset: Int, content: PageContent)]) -> RandomAction {
        let end = list.pages.last?.range.upperBound ?? 0
        switch number(0...19) {
        case 0:
            return .claim(request(end), at: now())
        case 3:
            if number(0...5) == 0 { return .reboot }
            return coin() ? .claim(request(end), at: now()) : .heartbeat(owner(), at: now())
        case 1:
            return .record((0..<number(1...3)).map { _ in ledgerEdit(end) }, at: now())
        case 2:
            let bytes = held.reduce(0) { $0 + $1.content.bytes.count }
            return .evict(
                EvictionBudget(
                    bytes: coin() ? nil : bytes * number(5...10) / 10, age: coin() ? nil : .seconds(number(60...600)),
                    pagesPerQuery: coin() ? nil : max(0, list.pages.count - 1)), at: now())
        default:
            let at = now()
            var plan = CommitPlan(query: list.record.id, version: list.record.version)
            if number(0...30) == 0 { plan.version.revision += 1 }
            plan.requestLease = lease()
            plan.edits = (0..<number(0...3)).map { _ in edit(list, held, end) }
            plan.ledger = (0..<number(0...2)).map { _ in ledgerEdit(end) }
            return .commit(plan, number(0...3) == 0 ? request(end) : nil, at: at)
        }
    }

    private mutating func owner() -> LeaseOwner { [.process, LeaseOwner("a"), LeaseOwner("b")][number(0...2)] }

    /// Returns one of the granted leases, usually a recent one. `nil` means no lease.
    private mutating func lease() -> LeaseToken? {
        guard granted > 0, number(0...2) > 0 else { return nil }
        return LeaseToken(rawValue: Int64(-1 - number(max(0, granted - (coin() ? 4 : 40))...granted - 1)))
    }

    private mutating func request(_ end: Int) -> LeaseRequest {
        let offsets = (0..<number(1...4)).map { _ in number(0...end + 3) }.eachOnce
        let lower = number(0...end + 3)
        return LeaseRequest(
            offsets, for: .seconds(number(1...3) * 90), by: owner(),
            includingOutline: coin() ? lower..<lower + number(0...40) : nil)
    }

    private mutating func edit(_ list: ListOutline, _ held: [(offset: Int, content: PageContent)], _ end: Int)
        -> ListEdit
    {
        let starts = list.pages.map(\.offset) + list.pages.map(\.range.upperBound)
        let position = coin() ? (starts.randomElement(using: &random) ?? 0) : number(0...end + 20)
        switch number(0...31) {
        case 0...7: return .insertPage(page(position, held))
        case 8:
            guard let known = held.randomElement(using: &random) else { return .insertPage(page(0, held)) }
            return .insertPage(
                PageWrite(offset: known.offset, content: known.content, evidence: .verified, cursorOut: cursor()))
        case 9...13:
            let upper = position + (number(0...2) == 0 ? 0 : number(0...45))
            let page = number(0...2) == 0 ? nil : page(number(0...60) == 0 ? position + 1 : position, held)
            return .splice(position..<upper, page)
        case 14: return .touchPage(offset: position, validator: validator())
        case 15: return .markContiguous(position..<position + number(0...60))
        case 16: return number(0...3) == 0 ? .startGeneration : .validated
        case 17, 18: return .markStale(position..<position + number(0...60))
        case 19: return number(0...2) == 0 ? .truncate(at: position) : .validated
        case 20: return .dropOlderGenerations
        case 21:
            return .setTotal(
                [.exact(end), .estimate(end), .unknown, .exact(-1)].randomElement(using: &random) ?? .unknown)
        case 22: return .setEnd(coin() ? nil : end)
        case 23: return number(0...25) < 2 ? .setAllowsDuplicates(number(0...1) == 0) : .validated
        case 24: return .rearrange(rearrangement(end, held))
        case 25: return .describe(paging: "p\(number(0...3))", source: "s")
        case 26: return .invalidated
        case 27:
            return .setFreshFor(
                [nil, .seconds(number(-2...90)), .seconds(Int64.max)].randomElement(using: &random) ?? nil)
        case 28: return .audited
        default: return .insertPage(page(end + number(0...1) * number(0...30), held))
        }
    }

    /// Returns kept ranges with a new page, a gap or no piece between them. Some items are moved or edited.
    private mutating func rearrangement(_ end: Int, _ held: [(offset: Int, content: PageContent)]) -> Rearrangement {
        var pieces: [Rearrangement.Piece] = []
        var (old, new) = (0, 0)
        for _ in 0..<number(1...4) {
            let upper = old + number(0...25)
            pieces.append(.kept(old..<upper))
            new += upper - old
            old = upper + (coin() ? 0 : number(0...20))
            switch number(0...3) {
            case 0:
                let page = page(new, held)
                pieces.append(.written(page, from: coin() ? [] : page.content.ids.map { _ in coin() ? nil : upper }))
                new += page.content.count
            case 1:
                let count = number(0...12)
                pieces.append(.gap(count))
                new += count
            default: break
            }
        }
        if number(0...5) > 0 { pieces.append(.kept(old..<Int.max)) }
        return Rearrangement(pieces)
    }

    private mutating func page(_ offset: Int, _ held: [(offset: Int, content: PageContent)]) -> PageWrite {
        let content =
            number(0...7) == 0
            ? held.randomElement(using: &random)?.content ?? PageContent()
            : content(number(0...11) == 0 ? 0 : number(1...40))
        return PageWrite(
            offset: offset, content: content, evidence: coin() ? .verified : .inferred, cursorIn: cursor(),
            cursorOut: cursor(), validator: validator())
    }

    /// Returns mostly new items. Some items are old, some have no id, and some are large.
    private mutating func content(_ count: Int) -> PageContent {
        PageContent(
            (0..<count).map { _ in
                let isOld = fresh > 0 && number(0...40) == 0
                let name = isOld ? number(0...fresh - 1) : fresh
                if !isOld { fresh += 1 }
                let id =
                    name % 7 == 3 ? nil : name % 150 == 9 ? String(repeating: "x", count: 140) + "\(name)" : "i\(name)"
                return RawItem(
                    payload: Array("{\(name)}\(String(repeating: "p", count: name % 31 == 0 ? 200 : 0))".utf8), id: id)
            })
    }

    private mutating func validator() -> Validator? {
        coin() ? nil : Validator(request: "r\(number(0...9))", entityTag: "e", lastModified: nil, coversTotal: coin())
    }

    private mutating func cursor() -> PageCursor? { coin() ? nil : PageCursor("c\(number(0...99))") }

    private mutating func ledgerEdit(_ end: Int) -> LedgerEdit {
        let offset = number(0...end + 10)
        switch number(0...6) {
        case 0, 1: return .succeeded(offset: offset, lease: lease())
        case 2:
            let failure = FetchFailure(
                .server, "m", isRetryable: coin(), httpStatus: 500, retryAfter: coin() ? nil : .seconds(3))
            return .failed(
                offset: offset, failure: failure, nextAttemptIn: coin() ? nil : .milliseconds(30), lease: lease())
        case 3, 4: return lease().map { .released(offset: offset, lease: $0) } ?? .expedited(offset: offset)
        case 5: return .expedited(offset: offset)
        default: return .deleted(offset: offset, lease: lease())
        }
    }
}

extension [Int] {
    fileprivate var eachOnce: [Int] {
        var seen: Set<Int> = []
        return filter { seen.insert($0).inserted }
    }
}
