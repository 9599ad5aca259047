#if Tool
import Logging

/// The log of the libraries for `--verbose`, as lines on standard error. Without the option, logging is off. The lines
/// name lists by their short ids, and never hold keys, URLs or items (R45).
struct ToolLog: LogHandler {
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?
    var logLevel = Logger.Level.trace

    private let terminal: Terminal

    init(terminal: Terminal) { self.terminal = terminal }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:], uniquingKeysWith: { $1 })
        let details = all.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
        let line = details.isEmpty ? "\(event.message)" : "\(event.message) · \(details)"
        terminal.detail(SettingNames.options(in: line))
    }

    /// The logger of a run.
    static func logger(_ label: String, terminal: Terminal = .standard) -> Logger {
        guard terminal.isVerbose else { return Logger(label: label, factory: { _ in SwiftLogNoOpLogHandler() }) }
        return Logger(label: label, factory: { _ in ToolLog(terminal: terminal) })
    }
}
#endif
