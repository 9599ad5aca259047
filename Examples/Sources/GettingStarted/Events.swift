// The items of the program, and the API that returns them.
import PagedRepository
import Synchronization

// snippet: item
struct Event: Codable, Identifiable, Hashable, Sendable {
    var id: Int
    var title: String
}
// end

/// An API in memory that can go offline.
final class EventsAPI: Sendable {
    private let isOffline = Mutex(false)

    func goOffline() { isOffline.withLock { $0 = true } }

    func events(_ offset: Int, _ size: Int) async throws -> EventsAnswer {
        if isOffline.withLock({ $0 }) { throw FetchFailure(.transport, "the API is offline", isRetryable: true) }
        let range = min(offset, 95)..<min(offset + size, 95)
        return EventsAnswer(items: range.map { Event(id: $0, title: "event \($0)") }, total: 95)
    }
}

// snippet: answer
struct EventsAnswer: Decodable, PaginatedResponse {
    var items: [Event]
    var total: Int
}
// end
