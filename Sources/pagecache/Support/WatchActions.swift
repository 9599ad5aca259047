#if Tool
import PageModel
import PageStore

/// The actions of the keys of `watch`. State: the running commands. Only the task of `Watching.run` uses it.
struct WatchActions {
    let store: any ToolStore
    /// The name of the store for people. Messages can contain it.
    private let place: String
    /// The path or the address with which the store was opened. The started commands receive it in `PAGECACHE_STORE` and
    /// not as an argument, because an address may have a password.
    private let path: String
    /// Commands that were started, each with its name, the short id of its query, and the shown words about its wait
    /// for the store.
    private var running: [(child: Child, name: String, id: String, wait: String?)] = []

    init(store: any ToolStore, opening path: String) { (self.store, place, self.path) = (store, store.name, path) }

    /// Handles a key.
    /// - Returns: whether the view continues.
    mutating func press(_ key: Key, _ view: inout WatchView, _ lists: [ListOutline]) async throws -> Bool {
        switch view.mode {
        case .finding:
            switch key {
            case .character(let character): view.filter.append(character)
            case .backspace: _ = view.filter.popLast()
            case .escape: (view.filter, view.mode) = ("", .lists)
            case .enter: view.mode = .lists
            case .up, .down, .pageUp, .pageDown, .home, .end: break
            }
            return true
        case .items(let title, let lines, let top):
            // The title, the key of the list and the keys of the view have a line each.
            let page = max(1, view.screen.rows - 3)
            let step: Int? =
                switch key {
                case .up, .character("k"): -1
                case .down, .character("j"): 1
                case .pageUp: -page
                case .pageDown: page
                case .home: -lines.count
                case .end: lines.count
                case .enter, .escape, .backspace, .character: nil
                }
            guard let step else {
                view.mode = .lists
                return true
            }
            let next = min(max(0, top + step), max(0, lines.count - page))
            view.mode = .items(key: title, lines: lines, top: next)
            return true
        case .lists:
            view.message = nil
            return try await act(key, &view, lists)
        }
    }

    private mutating func act(_ key: Key, _ view: inout WatchView, _ lists: [ListOutline]) async throws -> Bool {
        switch key {
        case .up, .character("k"): view.select(by: -1, lists)
        case .down, .character("j"): view.select(by: 1, lists)
        case .pageUp: view.select(by: -view.pageLength(lists), lists)
        case .pageDown: view.select(by: view.pageLength(lists), lists)
        case .home: view.select(by: -lists.count, lists)
        case .end: view.select(by: lists.count, lists)
        case .character("q"): return false
        case .character("/"): view.mode = .finding
        case .escape: view.filter = ""
        case .enter:
            if let list = view.current(lists) {
                view.mode = .items(key: list.record.key.text, lines: try await items(of: list), top: 0)
            }
        case .character("p"):
            guard let record = view.current(lists)?.record else { break }
            do throws(StorageError) {
                try await store.setPinned(!record.isPinned, record.id)
                view.message = "\(record.key.shortID) is \(record.isPinned ? "no longer pinned" : "pinned")"
            } catch {
                // The view continues, because showing the store needs no permission to write.
                let reason =
                    error.code == .busy
                    ? "another process is writing; try again" : WatchActions.reason(error.message, at: place)
                view.message = "pin unchanged: \(reason) · \(record.key.shortID)"
            }
        case .character("r"): start("retry", [], &view, lists)
        case .character("s"): start("sweep", ["--sweep"], &view, lists)
        case .character, .backspace: break
        }
        return true
    }

    /// Starts a command on the current query, as a process of its own.
    private mutating func start(_ name: String, _ flags: [String], _ view: inout WatchView, _ lists: [ListOutline]) {
        guard let list = view.current(lists) else { return }
        let id = list.record.key.shortID
        guard name != "retry" || !list.failures.isEmpty else { return view.message = "\(id): no page fails" }
        guard !running.contains(where: { $0.id == id && $0.child.isRunning }) else {
            return view.message = "\(id): a command is already running"
        }
        let command = name == "retry" ? "retry" : "sync"
        let child = Child(
            [command, id, "--quiet", "--no-input"] + flags,
            environment: ["PAGECACHE_STORE": path, StoreWait.variable: "1"])
        running.append((child, name, id, nil))
        view.message = WatchActions.progress(of: name, id, wait: nil)
    }

    /// Reports commands that wait for the store, and commands that have ended, with the reason of a failure.
    mutating func report(_ view: inout WatchView) async {
        for index in running.indices where running[index].child.isRunning {
            let action = running[index]
            let wait = StoreWait.reported(in: action.child.errors).words
            guard wait != action.wait else { continue }
            running[index].wait = wait
            view.message = WatchActions.progress(of: action.name, action.id, wait: wait)
        }
        let ended = running.filter { !$0.child.isRunning }
        for action in ended {
            let child = try? await action.child.wait()
            view.message =
                child?.code == 0
                ? WatchActions.ending(of: action.name, action.id, child?.errors ?? "", at: place)
                : WatchActions.failure(of: action.name, action.id, child?.errors ?? "", at: place)
        }
        running.removeAll { action in ended.contains { $0.child === action.child } }
    }

    /// The message about a running command. Pure.
    /// - Parameter wait: the words about the command's wait for the store. `nil` means that the command does not wait.
    static func progress(of name: String, _ id: String, wait: String?) -> String {
        wait.map { "\(name): \($0) (another process is writing) · \(id)" } ?? "\(id): \(name) started"
    }

    /// The message about a failed command: first the reason, which is in the last line of its errors, and last the
    /// query. Pure.
    static func failure(of name: String, _ id: String, _ errors: String, at place: String) -> String {
        let last = StoreWait.reported(in: errors).others.split(separator: "\n").last
        let reason = last.map { ": \(WatchActions.reason(String($0), at: place))" }
        return "\(name) failed\(reason ?? "") · \(id)"
    }

    /// The message about a command that has ended with 0: its last line on standard error, such as the number of pages
    /// that were not retried. Pure.
    static func ending(of name: String, _ id: String, _ errors: String, at place: String) -> String {
        let last = StoreWait.reported(in: errors).others.split(separator: "\n").last
        return last.map { "\(name): \(WatchActions.reason(String($0), at: place)) · \(id)" } ?? "\(id): \(name) ended"
    }

    /// The message of an error without the path of the store, which the user of the view knows. Pure.
    ///
    /// `reading or writing /home/a/store.sqlite: database is locked` becomes `database is locked`. In any other
    /// message, the name of the file replaces the path.
    static func reason(_ message: String, at place: String) -> String {
        let text = message.trimmingPrefix("pagecache: ")
        guard !place.isEmpty, let path = text.firstRange(of: place) else { return String(text) }
        let after = text[path.upperBound...]
        let isReason = after.hasPrefix(": ") && !text[..<path.lowerBound].contains(":")
        let name = place.split(separator: "/").last ?? ""
        return String((isReason ? after.dropFirst(2) : text).replacing(place, with: name))
    }

    /// The first items of a list, at most 200, one per line. Runs of white space become one space.
    private func items(of list: ListOutline) async throws -> [String] {
        let most = 200
        guard let window = try await store.window(of: list.record.id, 0..<min(most, max(list.length, 0))) else {
            return []
        }
        let lines = window.parts.flatMap { part in
            (0..<part.content.count).map { index in
                let bytes = part.content.bytes[part.content.byteRange(of: index)]
                let text = String(decoding: bytes, as: UTF8.self).replacing(/\s+/, with: " ")
                return "\(SizeText.count(part.offset + index))  \(text)"
            }
        }
        return lines.isEmpty ? ["no item is stored"] : lines
    }
}
#endif
