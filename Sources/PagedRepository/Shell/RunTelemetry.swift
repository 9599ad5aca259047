import Logging

/// The log, the metrics and the events of a run.
struct RunTelemetry {
    /// Reports an action and its result in a few words.
    typealias Report = @Sendable (SyncAction, String) -> Void

    let logger: Logger
    let meters = Meters.Run()
    let progress: @Sendable (SyncEvent) -> Void
    /// Reports each action. `nil` unless the options request reports of actions.
    let report: Report?

    init(logger: Logger, progress: @escaping @Sendable (SyncEvent) -> Void, reportsActions: Bool) {
        (self.logger, self.progress) = (logger, progress)
        report =
            if reportsActions { { action, result in progress(.acted(action, result: result)) } } else { nil }
    }
}
