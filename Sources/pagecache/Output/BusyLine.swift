#if Tool
/// A line on the terminal for work without countable steps. Work of up to two seconds shows no line.
enum BusyLine {
    private static let quietTime = Duration.seconds(2)

    /// Does the work, and shows its name and its time meanwhile.
    static func whileDoing<Value: Sendable>(
        _ what: String, on terminal: Terminal = .standard, _ work: () async throws -> Value
    ) async throws -> Value {
        guard terminal.showsProgress else { return try await work() }
        let started = ContinuousClock.now
        let task = Task {
            while !Task.isCancelled {
                do { try await Task.sleep(for: .milliseconds(500)) } catch { return }
                let time = ContinuousClock.now - started
                if time >= quietTime { terminal.progress("\(what) · \(TimeText.age(time))") }
            }
        }
        defer {
            task.cancel()
            terminal.progress("")
        }
        return try await work()
    }
}
#endif
