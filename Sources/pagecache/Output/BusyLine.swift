#if Tool
import PageStore

/// A line on the terminal for work without countable steps. The line appears after two seconds by default, or earlier
/// when the work waits for a lock on the store.
enum BusyLine {
    /// The default time before the line appears.
    static let quietTime = Duration.seconds(2)

    /// Does the work. Meanwhile the line shows the name of the work and the time that it has taken, or that it waits
    /// for another process.
    static func whileDoing<Value: Sendable, Failure: Error>(
        _ what: String, after quietTime: Duration = BusyLine.quietTime, on terminal: Terminal = .standard,
        _ work: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        guard terminal.showsProgress else { return try await work() }
        return try await whileDoing(what, after: quietTime, draw: { terminal.progress($0) }, work)
    }

    /// Does the work, and draws the line meanwhile. The last call of `draw` passes an empty text, which removes the
    /// line.
    static func whileDoing<Value: Sendable, Failure: Error>(
        _ what: String, after quietTime: Duration, draw: @escaping @Sendable (String) -> Void,
        _ work: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let started = ContinuousClock.now
        let drawing = Task {
            var isShown = false
            while !Task.isCancelled {
                do { try await Task.sleep(for: .milliseconds(250)) } catch { return }
                let time = ContinuousClock.now - started
                let line = text(what, after: time, quietTime: quietTime, storeWait: LockWaits.current)
                if line != nil || isShown { draw(line ?? "") }
                isShown = line != nil
            }
        }
        let result: Result<Value, Failure>
        do { result = .success(try await work()) } catch { result = .failure(error) }
        drawing.cancel()
        // A line that is being drawn would otherwise follow the results.
        await drawing.value
        draw("")
        return try result.get()
    }

    /// The line for work that has taken this time. `nil` means that the work shows no line yet. Pure.
    /// - Parameter storeWait: the time that the work has waited for the lock of another process. `nil` means that the
    ///   work does not wait.
    static func text(
        _ what: String, after time: Duration, quietTime: Duration = BusyLine.quietTime, storeWait: Duration? = nil
    ) -> String? {
        if let wait = StoreWait.text(storeWait) { return wait }
        guard time >= quietTime else { return nil }
        return time < .seconds(1) ? what : "\(what) · \(TimeText.age(time))"
    }
}
#endif
