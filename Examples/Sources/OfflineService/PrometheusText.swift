import Hummingbird

/// The text format of Prometheus, 0.0.4: one line for each series, one type for each metric, cumulative histograms.
enum PrometheusText {
    static func text(of registry: PrometheusRegistry) -> String {
        registry.metrics.flatMap { name, all in
            ["# TYPE \(name) \(all[0].series.kind.rawValue)"] + all.flatMap { $0.series.lines(name, $0.labels) }
        }.map { "\($0)\n" }.joined()
    }

    static func line(_ name: String, _ labels: String, _ value: some CustomStringConvertible) -> String {
        labels.isEmpty ? "\(name) \(value)" : "\(name){\(labels)} \(value)"
    }

    /// Returns the name with every character but letters, digits and underscores replaced by an underscore.
    static func name(_ label: String) -> String {
        String(label.map { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") ? $0 : "_" })
    }

    static func labels(_ dimensions: [(String, String)]) -> String {
        dimensions.sorted { $0.0 < $1.0 }.map { "\(name($0.0))=\"\(escaped($0.1))\"" }.joined(separator: ",")
    }

    private static func escaped(_ value: String) -> String {
        value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }
}

extension Number {
    func lines(_ name: String, _ labels: String) -> [String] { [PrometheusText.line(name, labels, value)] }
}

extension Distribution {
    /// A bucket counts all values up to its bound. The last bucket counts all values.
    func lines(_ name: String, _ labels: String) -> [String] {
        let counts = counts
        var lines: [String] = []
        var count = 0
        for (bound, inBucket) in zip(Distribution.bounds.map { "\($0)" } + ["+Inf"], counts.buckets) {
            count += inBucket
            let labels = [labels, "le=\"\(bound)\""].filter { !$0.isEmpty }.joined(separator: ",")
            lines.append(PrometheusText.line("\(name)_bucket", labels, count))
        }
        lines.append(PrometheusText.line("\(name)_sum", labels, counts.sum))
        lines.append(PrometheusText.line("\(name)_count", labels, count))
        return lines
    }
}

extension PrometheusRegistry {
    /// The answer to `GET /metrics`.
    func page() -> Response {
        Response(
            status: .ok, headers: [.contentType: "text/plain; version=0.0.4"],
            body: .init(byteBuffer: ByteBuffer(string: PrometheusText.text(of: self))))
    }
}
