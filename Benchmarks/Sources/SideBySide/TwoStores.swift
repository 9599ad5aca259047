import Foundation
import Measuring
package import PageModel
package import PageStore
import SQLiteLimit

/// The store of the library and the limit, each with a file of its own in one directory, and the same lists in both.
///
/// Operations alternate between both, so that other load on the machine affects both. One task at a time.
package final class TwoStores {
    /// A list in both.
    package struct List {
        package var ours: QueryID
        package var limit: Int64
        package var version = ListVersion(generation: 1, revision: 0)
    }

    package let store: SQLitePageStore
    package let limit: OpaquePointer
    package let directory: String
    package private(set) var clock = Timestamp(milliseconds: 1_800_000_000_000)

    package var direct: SynchronousAccess { store.synchronously }
    package var limitPath: String { TwoStores.limitPath(in: directory) }

    package init(directory: String) async throws {
        self.directory = directory
        store = try await SQLitePageStore.open(at: TwoStores.path(in: directory), mode: .createIfMissing)
        limit = try TwoStores.openLimit(in: directory)
    }

    package static func path(in directory: String) -> String { directory + "/ours.sqlite" }
    package static func limitPath(in directory: String) -> String { directory + "/limit.sqlite" }

    /// - Parameter hasChecksum: whether the limit takes the checksum of each page that it stores or reads, as we do.
    package static func openLimit(in directory: String, hasChecksum: Bool = true) throws -> OpaquePointer {
        let schema = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../Migrations/v0001_pages.sql").standardizedFileURL.path
        let path = hasChecksum ? limitPath(in: directory) : directory + "/limit-without-checksum.sqlite"
        guard let limit = limit_open(path, schema, limit_options(with_checksum: hasChecksum ? 1 : 0)) else {
            throw Unexpected(String(cString: limit_error(nil)))
        }
        return limit
    }

    /// In a new directory, which goes with `body`.
    package static func with(_ body: (TwoStores) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(
            "pagecache-bench-\(UUID().uuidString)"
        ).path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let stores = try await TwoStores(directory: directory)
        try await body(stores)
        await stores.store.close()
        limit_close(stores.limit)
    }

    /// Both stores with a list called "list" of 1,000 pages, closed.
    package static func prepare(in directory: String) async throws {
        let stores = try await TwoStores(directory: directory)
        _ = try await stores.fill("list", pages: 1_000)
        await stores.store.close()
        limit_close(stores.limit)
    }

    package func register(_ name: String) async throws -> List {
        List(ours: try await store.register(QueryKey(name)).id, limit: limit_register(limit, name))
    }

    package func tick() { clock = clock + .milliseconds(1) }

    package func plan(_ list: List, _ edits: [ListEdit], _ ledger: [LedgerEdit] = []) -> CommitPlan {
        CommitPlan(query: list.ours, version: list.version, edits: edits, ledger: ledger)
    }

    /// One piece of work, done by us and by the limit: each to be called once.
    package typealias BothWays = (ours: () throws -> Void, limit: () -> Void)

    /// A page arrives where nothing is held.
    package func putting(_ page: Material.Prepared, at offset: Int, into list: List) -> BothWays {
        let plan = plan(
            list, [.insertPage(PageWrite(offset: offset, content: page.content, evidence: .inferred))],
            [.succeeded(offset: offset)])
        let (direct, version) = (direct, list.version)
        return (
            { () throws -> Void in try expect(try direct.commit(plan) == .committed(version), "a commit") },
            { self.write(page, at: offset, into: list, limit_commit_page) }
        )
    }

    /// A page is fetched again, and is another one.
    package func replacing(_ page: Material.Prepared, at offset: Int, of list: List) -> BothWays {
        let write = PageWrite(offset: offset, content: page.content, evidence: .inferred)
        let range = offset..<offset + page.content.count
        let plan = plan(list, [.rearrange(.replacing(range, with: write))], [.succeeded(offset: offset)])
        let (direct, version) = (direct, list.version)
        return (
            { () throws -> Void in try expect(try direct.commit(plan) == .committed(version), "a commit") },
            { self.write(page, at: offset, into: list, limit_replace_page) }
        )
    }

    /// A page is fetched again, and is what it was.
    package func confirming(_ offset: Int, of list: List) -> BothWays {
        tick()
        let plan = plan(list, [.touchPage(offset: offset, validator: nil)])
        let (direct, version, limit, now) = (direct, list.version, limit, clock.milliseconds)
        return (
            { () throws -> Void in try expect(try direct.commit(plan) == .committed(version), "a commit") },
            { precondition(limit_confirm(limit, list.limit, Int64(offset), now) == 0) }
        )
    }

    /// `limit_commit_page` or `limit_replace_page`.
    package typealias LimitWrite = (
        OpaquePointer, Int64, Int64, Int64, UnsafeRawPointer, Int, UnsafeRawPointer, Int, UnsafeRawPointer, Int, UInt64,
        UInt64,
        Int64
    ) -> Int32

    /// The stored part of a page, and the function of the limit that stores it.
    /// - Parameter other: a limit that has the same lists under the same numbers. Default: the one that stands next to
    ///   us.
    package func write(
        _ page: Material.Prepared, at offset: Int, into list: List, _ function: LimitWrite,
        of other: OpaquePointer? = nil
    ) {
        let limit = other ?? limit
        let code = page.layout.withUnsafeBytes { layout in
            page.content.bytes.withUnsafeBytes { payload in
                page.hashes.withUnsafeBytes { hashes in
                    function(
                        limit, list.limit, Int64(offset), Int64(page.content.count), layout.baseAddress!, layout.count,
                        payload.baseAddress!, payload.count, hashes.baseAddress!, hashes.count, 0, 1, clock.milliseconds
                    )
                }
            }
        }
        precondition(code == 0, String(cString: limit_error(limit)))
    }

    /// A list of so many pages.
    package func fill(_ name: String, pages: Int, _ material: Material = Material()) async throws -> List {
        let list = try await register(name)
        for number in 0..<pages {
            let page = putting(material.prepared(number), at: number * material.items, into: list)
            try page.ours()
            page.limit()
        }
        return list
    }
}
