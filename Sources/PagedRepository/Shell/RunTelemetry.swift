import Logging

/// Where a run reports what it does: the log, the metrics and the events for its caller.
struct RunTelemetry {
    let logger: Logger
    let meters = Meters.Run()
    let progress: @Sendable (SyncEvent) -> Void
}
