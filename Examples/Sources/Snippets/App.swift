// Declarations that the snippets expect from their program: an API, and functions that show items.
import PagedRepository

struct Item: Codable, Identifiable, Sendable {
    var id: Int
    var name: String
}

/// An API with 48 items, which can be requested in several ways.
enum API {
    static func items(offset: Int, size: Int) async throws -> ItemsResponse {
        ItemsResponse(
            items: (min(offset, 48)..<min(offset + size, 48)).map { Item(id: $0, name: "item \($0)") }, total: 48)
    }

    static func list(limit: Int, offset: Int) async throws -> [Item] {
        try await items(offset: offset, size: limit).items
    }

    static func names(page: Int, size: Int) async throws -> NamesResponse {
        NamesResponse(results: try await items(offset: page * size, size: size).items.map(\.name), total: 48)
    }

    static func names(from start: Int) async throws -> [String] {
        try await items(offset: start, size: 10).items.map(\.name)
    }

    static func items(after last: Item?, limit: Int) async throws -> [Item] {
        try await items(offset: last.map { $0.id + 1 } ?? 0, size: limit).items
    }
}

func show(_ items: some Collection) {}
func tell(_ failure: ListFailure) {}
