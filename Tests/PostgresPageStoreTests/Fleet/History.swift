#if PostgreSQL && Tool && canImport(Glibc)
/// The steps of all replicas of a run, from what each printed (`StoreWorker/Replica.swift`), and the rules that they broke.
struct History {
    /// The time during which a replica certainly held a lease: from the arrival of the grant to the sending of its end.
    private struct Holding {
        var token: Int64
        var from: Int64
        var to: Int64?
        var isLost = false
    }

    private(set) var stored: Set<String> = []
    private(set) var violations: [String] = []
    /// Grants, ends and stored pages.
    private(set) var steps = 0
    /// The tokens whose holders ended them.
    private(set) var ended: Set<Int64> = []
    /// The tokens that the server no longer knew when their holders ended them.
    private(set) var lost: Set<Int64> = []
    private var holdings: [Int: [Holding]] = [:]
    private var tokens: Set<Int64> = []

    /// Adds the output of one replica.
    /// - Parameter killedAt: the time when it was killed; `nil` means that it ended by itself.
    mutating func add(_ output: String, killedAt: Int64? = nil) {
        var held: [Int64: (offset: Int, holding: Holding)] = [:]
        for line in output.split(separator: "\n") {
            let words = line.split(separator: " ")
            let numbers = words.dropFirst().compactMap { Int64($0) }
            switch words.first {
            case "grant" where numbers.count == 3:
                steps += 1
                if !tokens.insert(numbers[1]).inserted { violations.append("token \(numbers[1]) twice") }
                held[numbers[1]] = (Int(numbers[0]), Holding(token: numbers[1], from: numbers[2], to: nil))
            case "end" where numbers.count == 3:
                steps += 1
                ended.insert(numbers[1])
                held[numbers[1]]?.holding.to = numbers[2]
            case "lost" where numbers.count == 2:
                held[numbers[1]]?.holding.isLost = true
                lost.insert(numbers[1])
            case "stored":
                steps += 1
                stored.formUnion(words.dropFirst().map(String.init))
            case "wrong": violations.append(String(line))
            default: break
            }
        }
        for (offset, holding) in held.values where !holding.isLost {
            var holding = holding
            // The grant of a replica that was killed counted until then. One that ended without an end was interrupted
            // by an error, and held it for an instant at least.
            holding.to = holding.to ?? killedAt ?? holding.from
            holdings[offset, default: []].append(holding)
        }
    }

    /// Removes violations that the schedule permits.
    mutating func forgive(_ isPermitted: (String) -> Bool) { violations.removeAll(where: isPermitted) }

    /// The pairs of grants of one position that were held at the same time.
    var overlaps: [String] {
        var found: [String] = []
        for (offset, holdings) in holdings {
            let sorted = holdings.sorted { $0.from < $1.from }
            for (one, other) in zip(sorted, sorted.dropFirst()) {
                guard let to = one.to, to > other.from else { continue }
                let time = "\((to - other.from) / 1_000) µs"
                found.append("position \(offset): tokens \(one.token) and \(other.token) for \(time)")
            }
        }
        return found
    }
}
#endif
