import Logging
import Metrics
import Synchronization

/// A metrics back end that records counts and timings. With `withMetricsFactory` it records one test only.
///
/// State: the records of each series, under a mutex.
final class RecordingMetrics: MetricsFactory {
    /// One metric with one value of its dimension. The dimension and the value are empty for a metric without one.
    struct Series: Hashable {
        var label: String
        var dimension: String
        var value: String
    }

    fileprivate struct State {
        var counts: [Series: Int64] = [:]
        var timings: [Series: [Int64]] = [:]
        var values: [Series: [Double]] = [:]
    }

    private final class Handler: CounterHandler, TimerHandler, RecorderHandler {
        private let series: Series
        private let metrics: RecordingMetrics

        init(_ series: Series, _ metrics: RecordingMetrics) {
            self.series = series
            self.metrics = metrics
        }

        func increment(by amount: Int64) { metrics.state.withLock { $0.counts[series, default: 0] += amount } }
        func recordNanoseconds(_ duration: Int64) {
            metrics.state.withLock { $0.timings[series, default: []].append(duration) }
        }
        func reset() {}
        func record(_ value: Int64) { record(Double(value)) }
        func record(_ value: Double) { metrics.state.withLock { $0.values[series, default: []].append(value) } }
    }

    private let state = Mutex(State())

    /// The series that were created: counters, and timers.
    var counters: Set<Series> { state.withLock { Set($0.counts.keys) } }
    var timers: Set<Series> { state.withLock { Set($0.timings.keys) } }

    var gauges: Set<Series> { state.withLock { Set($0.values.keys) } }

    /// Returns the recorded values of a gauge without a dimension.
    func values(_ label: String) -> [Double] {
        state.withLock { $0.values[Series(label: label, dimension: "", value: "")] ?? [] }
    }

    /// Returns the counts of a metric by the value of its dimension, without zero counts.
    func counts(_ label: String) -> [String: Int64] {
        state.withLock { state in
            let found = state.counts.filter { $0.key.label == label && $0.value != 0 }
            return Dictionary(uniqueKeysWithValues: found.map { ($0.key.value, $0.value) })
        }
    }

    /// Returns the sum of a metric's counts.
    func count(_ label: String) -> Int64 { counts(label).values.reduce(0, +) }

    /// Returns the timings of a metric in nanoseconds by the value of its dimension, without empty series.
    func timings(_ label: String) -> [String: [Int64]] {
        state.withLock { state in
            let found = state.timings.filter { $0.key.label == label && !$0.value.isEmpty }
            return Dictionary(uniqueKeysWithValues: found.map { ($0.key.value, $0.value) })
        }
    }

    private func series(_ label: String, _ dimensions: [(String, String)]) -> Series {
        Series(label: label, dimension: dimensions.first?.0 ?? "", value: dimensions.first?.1 ?? "")
    }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        let series = series(label, dimensions)
        state.withLock { $0.counts[series, default: 0] += 0 }
        return Handler(series, self)
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        let series = series(label, dimensions)
        state.withLock { $0.timings[series, default: []] += [] }
        return Handler(series, self)
    }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        let series = series(label, dimensions)
        state.withLock { $0.values[series, default: []] += [] }
        return Handler(series, self)
    }

    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
}

/// Records every logged line at any level.
///
/// State: the lines, under a mutex.
final class RecordedLog: Sendable {
    struct Line: Sendable {
        var level: Logger.Level
        var message: String
        var metadata: Logger.Metadata

        /// Everything of the line that a back end could print.
        var text: String { "\(level) \(message) \(metadata)" }
    }

    private struct Handler: LogHandler {
        let log: RecordedLog
        var logLevel = Logger.Level.trace
        var metadata: Logger.Metadata = [:]

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let all = metadata.merging(event.metadata ?? [:]) { _, new in new }
            log.state.withLock { $0.append(Line(level: event.level, message: "\(event.message)", metadata: all)) }
        }
    }

    private let state = Mutex<[Line]>([])

    var lines: [Line] { state.withLock { $0 } }

    func logger() -> Logger { Logger(label: "test") { _ in Handler(log: self) } }
}
