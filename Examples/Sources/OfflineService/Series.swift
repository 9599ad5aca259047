import Metrics
import Synchronization

/// One line, or one histogram, of `GET /metrics`.
protocol Series: AnyObject, Sendable {
    var kind: SeriesKind { get }

    func lines(_ name: String, _ labels: String) -> [String]
}

enum SeriesKind: String {
    case counter, gauge, histogram
}

/// A counter, or a gauge. State: the number, under a mutex.
final class Number: Series, CounterHandler, RecorderHandler {
    let kind: SeriesKind
    private let number = Mutex(0.0)

    init(_ kind: SeriesKind) { self.kind = kind }

    var value: Double { number.withLock { $0 } }

    func increment(by amount: Int64) { number.withLock { $0 += Double(amount) } }
    func reset() { number.withLock { $0 = 0 } }
    func record(_ value: Int64) { record(Double(value)) }
    func record(_ value: Double) { number.withLock { $0 = value } }
}

/// A histogram. State: the number of values in each bucket, and their sum, under a mutex.
final class Distribution: Series, RecorderHandler, TimerHandler {
    struct Counts {
        /// One count for each bound, and one for values above all bounds.
        var buckets = [Int](repeating: 0, count: Distribution.bounds.count + 1)
        var sum = 0.0
    }

    /// The upper bounds of the buckets in seconds. The first suits a commit, and the last a very slow answer.
    static let bounds = [0.001, 0.005, 0.025, 0.1, 0.5, 1, 5, 30]

    let kind = SeriesKind.histogram
    private let state = Mutex(Counts())

    var counts: Counts { state.withLock { $0 } }

    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        state.withLock { state in
            state.buckets[Distribution.bounds.firstIndex { value <= $0 } ?? Distribution.bounds.count] += 1
            state.sum += value
        }
    }

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1_000_000_000) }
}
