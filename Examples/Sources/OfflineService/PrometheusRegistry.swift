import Metrics
import Synchronization

/// Collects the metrics of swift-metrics for `GET /metrics`, without another package. In your own program use
/// swift-prometheus, as Documentation/Observability.md shows.
///
/// State: every series by metric and labels, under a mutex. Handlers with the same name and labels share one series.
final class PrometheusRegistry: MetricsFactory {
    private let series = Mutex<[String: [String: any Series]]>([:])

    /// The series of each metric by their labels. Names and labels are in the text format of Prometheus.
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
        // A recorder without aggregation is a gauge, which keeps the newest value.
        aggregate ? known(label, dimensions) { Distribution() } : known(label, dimensions) { Number(.gauge) }
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        known(label, dimensions) { Distribution() }
    }

    // Destroyed handlers keep their counts.
    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}

    /// Returns the series with this name and these labels, and makes it if there is none. If another kind of metric
    /// already has the name, the values of the returned series do not appear in the answer.
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
