#if Tool
import Foundation
import PageStore

/// The words on a terminal about a wait for a lock that another process holds on the store.
enum StoreWait {
    /// The shortest wait that is shown.
    private static let shortest = Duration.seconds(1)

    /// The words about a wait of this time. `nil` without a wait, and for one of less than a second. Pure.
    static func text(_ wait: Duration?) -> String? {
        wait.flatMap { $0 >= shortest ? "waiting \(TimeText.age($0)) for the store" : nil }
    }

    /// Shows the words during each wait, while the terminal has no other progress line. Cancel the task at the end of
    /// the command.
    static func show(on terminal: Terminal) -> Task<Void, Never> {
        Task {
            let isReported = ProcessInfo.processInfo.environment[variable] != nil
            guard isReported || terminal.errorIsTerminal && !Terminal.isDumb else { return }
            var latest: String?
            while !Task.isCancelled {
                do { try await Task.sleep(for: .milliseconds(250)) } catch { return }
                guard isReported else {
                    terminal.showWait { text(LockWaits.current) }
                    continue
                }
                let words = text(LockWaits.current)
                if words != latest { terminal.reportWait(words) }
                latest = words
            }
        }
    }

    // MARK: For the process that started this one

    /// An environment variable that `watch` sets for the commands that it starts. Such a command reports its waits on
    /// standard error, so that the view can show them.
    static let variable = "PAGECACHE_REPORTS_WAITS"
    /// The beginning of a line about a wait.
    private static let mark = "pagecache-wait: "

    /// The line about a wait. `nil` means that the wait has ended. Pure.
    static func line(_ words: String?) -> String { mark + (words ?? "") }

    /// Returns the words about the present wait of a process, and its standard error without the lines about waits.
    /// Pure.
    static func reported(in errors: String) -> (words: String?, others: String) {
        var words: String?
        var others: [Substring] = []
        for line in errors.split(separator: "\n", omittingEmptySubsequences: false) {
            guard line.hasPrefix(mark) else {
                others.append(line)
                continue
            }
            let text = line.dropFirst(mark.count)
            words = text.isEmpty ? nil : String(text)
        }
        return (words, others.joined(separator: "\n"))
    }
}
#endif
