#if Tool
import PageStore

/// The words on a terminal about a wait for a lock that another process holds on the store.
enum StoreWait {
    /// A shorter wait needs no words.
    private static let shortest = Duration.seconds(1)

    /// The words about a wait of this time. `nil` without a wait, and for a short one. Pure.
    static func text(_ wait: Duration?) -> String? {
        wait.flatMap { $0 >= shortest ? "waiting \(TimeText.age($0)) for the store" : nil }
    }

    /// Shows the words during each wait, while the terminal has no other progress line. Cancel the task at the end of
    /// the command.
    static func show(on terminal: Terminal) -> Task<Void, Never> {
        Task {
            guard terminal.errorIsTerminal, !Terminal.isDumb else { return }
            while !Task.isCancelled {
                do { try await Task.sleep(for: .milliseconds(250)) } catch { return }
                terminal.showWait(text(LockWaits.current))
            }
        }
    }
}
#endif
