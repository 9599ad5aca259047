#if Tool
import PageModel
import PageStore

/// The actions of the keys of `watch`. State: the running commands. Only the task of `Watching.run` uses it.
struct WatchActions {
    let store: any ToolStore
    /// The place of the store as the user wrote it, for the commands. The commands take it from their environment,
    /// because an address may have a password.
    private let place: String
    /// Commands that were started, each with its name and the short id of its query.
    private var running: [(child: Child, name: String, id: String)] = []

    init(store: any ToolStore, at place: String) { (self.store, self.place) = (store, place) }

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
            case .up, .down: break
            }
            return true
        case .items(let title, let lines, let top):
            let step =
                switch key {
                case .up, .character("k"): -1
                case .down, .character("j"): 1
                default: 0
                }
            let next = min(max(0, top + step), max(0, lines.count - 1))
            view.mode = step == 0 ? .lists : .items(key: title, lines: lines, top: next)
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
        case .character("q"): return false
        case .character("/"): view.mode = .finding
        case .escape: view.filter = ""
        case .enter:
            if let list = view.current(lists) {
                view.mode = .items(key: list.record.key.text, lines: try await items(of: list), top: 0)
            }
        case .character("p"):
            guard let list = view.current(lists) else { break }
            try await store.setPinned(!list.record.isPinned, list.record.id)
            view.message = "\(list.record.key.shortID) is \(list.record.isPinned ? "no longer pinned" : "pinned")"
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
        guard !running.contains(where: { $0.id == id && $0.child.isRunning }) else {
            return view.message = "\(id): a command is already running"
        }
        let command = name == "retry" ? "retry" : "sync"
        let child = Child(
            [command, id, "--quiet", "--no-input"] + flags, environment: ["PAGECACHE_STORE": place])
        running.append((child, name, id))
        view.message = "\(id): \(name) started"
    }

    /// Reports commands that have ended, with the reason of a failure.
    mutating func reportEnded(_ view: inout WatchView) async {
        let ended = running.filter { !$0.child.isRunning }
        for action in ended {
            let result = WatchActions.result(try? await action.child.wait())
            view.message = "\(action.id): \(action.name) \(result)"
        }
        running.removeAll { action in ended.contains { $0.child === action.child } }
    }

    private static func result(_ ended: Child.Ended?) -> String {
        guard let ended else { return "failed" }
        if ended.code == 0 { return "ended" }
        let reason = ended.errors.split(separator: "\n").last.map { String($0.trimmingPrefix("pagecache: ")) }
        return "failed\(reason.map { ": \($0)" } ?? "")"
    }

    /// The first items of a list, one per line.
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
