#if HTTP
import PageModel
import PagedRepository
import Testing

@testable import HTTPPageSource

@Suite("Cache-Control (RFC 9111)")
struct CacheControlTests {
    @Test(
        "max-age is accepted in every valid spelling, and an invalid number of seconds makes the answer stale (4.2.1)",
        arguments: [
            (["max-age=60"], 60), (["public, MAX-AGE=60, must-revalidate"], 60), ([#"max-age="60""#], 60),
            (["private", "max-age=60"], 60),
            ([" max-age = 60 "], 60), (["max-age=60, max-age=5"], 60), (["max-age=0"], 0), (["max-age=-1"], 0),
            (["max-age=soon"], 0),
            (["max-age=1.5"], 0), (["max-age"], 0), (["max-age="], 0), (["max-age=99999999999999999999999"], 1 << 31),
            (["max-age=4294967296"], 1 << 31), ([#"community="a, max-age=1\", max-age=2", max-age=3"#], 3),
            (["s-maxage=9, max-age=60"], 60),
            ([",,max-age=60,,"], 60), ([#"max-age="6\0""#], 60),
        ] as [([String], Int)])
    func maxAge(fields: [String], seconds: Int) {
        #expect(CacheControl(fields).freshFor() == .seconds(seconds))
    }

    @Test(
        "A field without a freshness directive has no effect",
        arguments: [
            [], [""], ["s-maxage=60"], ["public"], ["x-max-age=60"], [#"note="max-age=60""#], [#"note="max-age=60"#],
            ["=60"],
            ["max-age 60"],
        ])
    func silent(fields: [String]) {
        #expect(CacheControl(fields).freshFor() == nil)
        #expect(!CacheControl(fields).isNoStore)
    }

    @Test(
        "A no-cache answer may be stored but is never fresh, and a no-store answer may not be stored",
        arguments: [
            (["no-cache, max-age=60"], false), (["max-age=60", "No-Cache"], false),
            ([#"no-cache="Set-Cookie", max-age=60"#], false),
            (["no-cache, no-store"], true),
        ])
    func noCache(fields: [String], isNoStore: Bool) {
        #expect(CacheControl(fields).freshFor() == .zero)
        #expect(CacheControl(fields).isNoStore == isNoStore)
    }

    @Test(
        "The Age header shortens the freshness lifetime (5.1)",
        arguments: [
            (["20"], 40), (["60"], 0), (["2147483648"], 0), (["99999999999999999999"], 0), (["-20"], 60), (["old"], 60),
            ([], 60),
            (["20", "50"], 40),
            (["20, 50"], 40),
        ])
    func age(fields: [String], seconds: Int) {
        #expect(CacheControl(["max-age=60"]).freshFor(age: fields) == .seconds(seconds))
    }

    private func page(_ headers: [HTTPField]) async throws -> FetchedPage {
        var configuration = HTTPSourceConfiguration(url: "https://h/api")
        configuration.paging = .none
        let source = try HTTPSource(configuration, transport: ScriptedOrigin { _, _ in .json("[1,2]", headers) })
        guard case .page(let first) = try await source.fetch(PageRequest(.first)),
            case .page(let again) = try await source.fetch(PageRequest(.first))
        else { throw FetchFailure(.undecodable, "no page", isRetryable: false) }
        // Paging detection also examines the first answer. That answer must report the same as a later one.
        #expect(first.freshFor == again.freshFor && first.mayBeStored == again.mayBeStored)
        return again
    }

    @Test("A page reports its freshness lifetime and whether it may be stored, considering all header fields")
    func pages() async throws {
        let fresh = try await page([
            HTTPField("cache-control", "public"), HTTPField("Cache-Control", "max-age=60"),
            HTTPField("Age", "15"),
        ])
        #expect(fresh.freshFor == .seconds(45) && fresh.mayBeStored)
        let secret = try await page([HTTPField("Cache-Control", "no-store")])
        #expect(secret.freshFor == nil && !secret.mayBeStored)
        let plain = try await page([])
        #expect(plain.freshFor == nil && plain.mayBeStored)
    }
}
#endif
