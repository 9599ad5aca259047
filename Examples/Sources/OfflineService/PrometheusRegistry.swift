import Metrics
import Synchronization

/// Where swift-metrics counts, so that `GET /metrics` can show it. A program of your own takes swift-prometheus, as
/// Documentation/Observability.md shows; this is what it takes to look at the library's metrics without another
/// package.
///
/// State: every series by metric and labels, under a mutex. The same name and labels are the same series.
final class PrometheusRegistry: MetricsFactory {
    private let series = Mutex<[String: [String: any Series]]>([:])

    /// The series of each metric by their labels, both as they are written.
    var metrics: [(name: String, series: [(labels: String, series: any Series)])] {
        series.withLock { series in
            series.sorted { $0.key < $1.key }.map {
                ($0.key, $0.value.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
            }
        }
    }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        known(label, dimensions) { Number(.counter) }
    }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        // What is not aggregated is a gauge: its newest value counts.
        aggregate ? known(label, dimensions) { Distribution() } : known(label, dimensions) { Number(.gauge) }
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        known(label, dimensions) { Distribution() }
    }

    // What was counted stays counted.
    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}

    /// A name that is taken by another kind of metric counts where nobody looks, and breaks nothing.
    private func known<New: Series>(_ label: String, _ dimensions: [(String, String)], _ make: () -> New) -> New {
        let (name, labels) = (PrometheusText.name(label), PrometheusText.labels(dimensions))
        return series.withLock { series in
            if let known = series[name]?[labels] { return known as? New ?? make() }
            let made = make()
            if let other = series[name]?.values.first, other.kind != made.kind { return made }
            series[name, default: [:]][labels] = made
            return made
        }
    }
}
