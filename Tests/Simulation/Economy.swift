import Foundation
import PageModel
import PageStore
import PagedRepository
import PagedRepositoryTesting

/// The cost of finding the changes in a list of n pages of 50 items, compared with reading the whole list again (G4).
public enum Economy {
    static let pageSize = 50

    enum Kind: String, CaseIterable {
        case insert = "inserts"
        case delete = "deletes"
        case mixed
        case moveToHead = "moves to the head"
        case edit = "edits"
    }

    enum Place: String, CaseIterable {
        case head, middle, tail, spread
    }

    struct Row {
        var pages: Int
        var changes: Int
        var kind: Kind
        var place: Place
        var requests: Int
        var bytes: Int
        /// The number of positions at which the held item differs from the origin's item after the run.
        var wrong: Int
        var seams: Int
    }

    public static func print() async throws {
        Swift.print("pages   changes                    place    requests    read again    bytes     afterwards")
        for pages in [100, 1_000, 10_000] {
            let loaded = try await load(pages)
            defer { try? FileManager.default.removeItem(atPath: loaded) }
            let nothing = try await row(loaded, pages, 0, .edit, .head)
            line(nothing, "nothing")
            for changes in [1, 3, 10] {
                for kind in Kind.allCases {
                    for place in Place.allCases {
                        line(try await row(loaded, pages, changes, kind, place), "\(changes) \(kind.rawValue)")
                    }
                }
            }
        }
    }

    /// Returns the cases in a list of 100 pages that cost too many requests or leave wrong items. An unchanged list, or
    /// a change within page one, may cost one request (R17). One insert or delete anywhere may cost as many requests as
    /// halving takes (R18).
    public static func findings() async throws -> [String] {
        let pages = 100
        let loaded = try await load(pages)
        defer { try? FileManager.default.removeItem(atPath: loaded) }
        let halving = 2 * 7 + 4
        let bounds: [(changes: Int, kind: Kind, place: Place, requests: Int)] = [
            (0, .edit, .head, 1), (1, .insert, .head, 1), (1, .delete, .head, 1), (1, .moveToHead, .middle, 1),
            (3, .moveToHead, .spread, 1),
            (10, .moveToHead, .tail, 1), (1, .insert, .middle, halving), (1, .delete, .tail, halving),
            (1, .mixed, .spread, halving),
        ]
        var findings: [String] = []
        for bound in bounds {
            let row = try await row(loaded, pages, bound.changes, bound.kind, bound.place)
            let what = "\(bound.changes) \(bound.kind.rawValue), \(bound.place.rawValue)"
            if row.requests > bound.requests {
                findings.append("G4: \(row.requests) requests, not \(bound.requests), for \(what)")
            }
            // The search and the audit each request as many positions as the logarithm of the number of pages (R18).
            if bound.place == .middle, bound.changes == 1, bound.kind == .insert, row.requests < 2 + 2 * 7 {
                findings.append("R18: \(row.requests) requests for \(what): the audit is missing")
            }
            if row.wrong > 0 { findings.append("G3: \(row.wrong) items wrong after \(what)") }
        }
        return findings
    }

    private static func line(_ row: Row, _ what: String) {
        func pad(_ text: String, _ width: Int) -> String {
            text + String(repeating: " ", count: max(0, width - text.count))
        }
        let state =
            row.wrong == 0 ? "exact" : "\(row.wrong) of \(row.pages * pageSize) unseen, \(row.seams) seams inferred"
        Swift.print(
            pad("\(row.pages)", 8) + pad(what, 27) + pad(row.place.rawValue, 9) + pad("\(row.requests)", 12)
                + pad("\(row.pages)", 14) + pad("\(row.bytes / 1024) KiB", 10) + state)
    }

    /// Returns the cost of synchronizing a loaded list after changes at the origin.
    static func row(_ loaded: String, _ pages: Int, _ changes: Int, _ kind: Kind, _ place: Place) async throws -> Row {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "pagecache-economy-\(UUID().uuidString)"
        ).path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.copyItem(atPath: loaded, toPath: folder)
        let clock = ManualClock()
        let storage = try await SQLitePageStore.open(at: "\(folder)/store.sqlite", mode: .mustExist, clock: clock)
        let origin = ChangedOrigin(count: pages * pageSize, pageSize: pageSize)
        for change in 0..<changes {
            let count = origin.count
            let position =
                switch place {
                case .head: min(3 * change, pageSize - 1 - changes)
                case .middle: count / 2 + change * 7
                case .tail: count - 1 - change * 7
                case .spread: (2 * change + 1) * count / (2 * changes) + change
                }
            switch kind {
            case .insert: origin.insert(at: position)
            case .delete: origin.delete(at: position)
            case .mixed: if change % 3 == 2 { origin.delete(at: position) } else { origin.insert(at: position) }
            case .moveToHead: origin.move(from: position, to: 0)
            case .edit: origin.edit(at: position)
            }
        }
        var options = SyncOptions()
        options.reportsOutline = true
        let report = try await ListSync(
            storage: storage, source: origin, key: key, options: options, clock: clock, jitter: { 0.5 }
        ).run()
        var wrong = 0
        if let list = report.list {
            let window = try await storage.window(of: list.record.id, 0..<ListTotal.largest)
            let held = (window?.parts ?? []).filter(\.isHeld).flatMap { $0.content.items }
            wrong = abs(origin.count - held.count)
            for (position, item) in held.prefix(origin.count).enumerated() where item != origin.item(position) {
                wrong += 1
            }
        }
        await storage.close()
        return Row(
            pages: pages, changes: changes, kind: kind, place: place, requests: origin.usage.requests,
            bytes: origin.usage.bytesReceived, wrong: wrong, seams: report.list?.inferredSeams ?? 0)
    }

    private static let key = QueryKey("economy")

    /// Stores a list after its first load, and returns the folder of the store.
    private static func load(_ pages: Int) async throws -> String {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "pagecache-economy-\(UUID().uuidString)"
        ).path
        let clock = ManualClock()
        let storage = try await SQLitePageStore.open(at: "\(folder)/store.sqlite", mode: .createIfMissing, clock: clock)
        let origin = ChangedOrigin(count: pages * pageSize, pageSize: pageSize)
        _ = try await ListSync(storage: storage, source: origin, key: key, clock: clock, jitter: { 0.5 }).run()
        await storage.close()
        return folder
    }
}
