import PageModel
import PagedRepository
import Synchronization

struct Song: Codable, Identifiable, Hashable, Sendable {
    var id: Int
    var title: String

    static func list(_ count: Int) -> [Song] { (0..<count).map { Song(id: 100 + $0, title: "Nº \($0)") } }
}

struct Bookmark: Codable, Hashable, Sendable {
    var shelf = "a/b"
    var after: Int
}

/// An origin with its own client that supports every style of paging. The jukebox records the requested positions. A
/// position or size that no origin would answer is rejected without a record.
final class Jukebox: Sendable {
    struct State {
        var songs: [Song]
        var counts = true
        var places: [Int] = []
    }

    let state: Mutex<State>

    init(_ count: Int, counts: Bool = true) { state = Mutex(State(songs: Song.list(count), counts: counts)) }

    var songs: [Song] { state.withLock { $0.songs } }
    /// The position of the first item of every requested page, in order.
    var places: [Int] { state.withLock { $0.places } }

    func songs(at offset: Int, _ size: Int) throws -> (page: ItemPage<Song>, next: Int?) {
        guard offset >= 0, size > 0 else { throw FetchFailure.status(422) }
        return state.withLock { state in
            state.places.append(offset)
            let songs = state.songs.dropFirst(offset).prefix(size)
            let end = offset + songs.count
            return (
                ItemPage(items: Array(songs), total: state.counts ? state.songs.count : nil),
                end < state.songs.count ? end : nil
            )
        }
    }
}

/// The styles of paging of a source made from a closure.
enum Style: CaseIterable {
    case offsets, pages, cursors, afterLast, links

    func source(_ box: Jukebox, size: PageSize = 10) throws -> ItemSource<Song> {
        switch self {
        case .offsets:
            .offsets(pageSize: size) { offset, size in try box.songs(at: offset, size).page }
        case .pages:
            .pages(size: size) { number, size in try box.songs(at: (number - 1) * size, size).page }
        case .cursors:
            .cursors(pageSize: size) { (bookmark: Bookmark?, size) in
                let (page, next) = try box.songs(at: bookmark?.after ?? 0, size ?? 3)
                return CursorPage(items: page.items, next: next.map { Bookmark(after: $0) }, total: page.total)
            }
        case .afterLast:
            .afterLast(pageSize: size) { last, size in
                try box.songs(at: last.flatMap { box.songs.firstIndex(of: $0) }.map { $0 + 1 } ?? 0, size).page
            }
        case .links:
            .links { link in
                let (page, next) = try box.songs(at: link.flatMap { Int($0.dropFirst(9)) } ?? 0, size.count)
                return CursorPage(items: page.items, next: next.map { "/songs?o=\($0)" }, total: page.total)
            }
        }
    }
}
