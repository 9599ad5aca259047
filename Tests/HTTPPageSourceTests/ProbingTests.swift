#if HTTP
import PageModel
import PagedRepository
import Synchronization
import Testing

@testable import HTTPPageSource

@Suite("Detection: probes, their order and their evidence")
struct ProbingTests {
    @Test(
        "Without evidence in page one the usual parameters are tried, and the first that proves itself is used",
        arguments: [
            ("offset", 2, 0), ("page", 4, 1), ("page", 5, 0), ("skip", 4, 0), ("start", 5, 0), ("from", 6, 0),
            ("_page", 8, 1), ("_start", 8, 0),
        ])
    func probes(parameter: String, requests: Int, first: Int) async throws {
        let isPage = parameter.hasSuffix("page")
        let origin = ScriptedOrigin { url, _ in
            let value = url.number(parameter)
            let start = isPage ? ((value ?? first) - first) * 20 : value ?? 0
            return .json(#"{"total":45,"items":[\#(objects(min(max(start, 0), 45)..<min(max(start, 0) + 20, 45)))]}"#)
        }
        let source = try scripted("http://h/api", origin)
        _ = try await source.first()
        #expect(origin.requests.count == requests)
        #expect(source.access == (isPage ? .grid(size: 20) : .offsets))
        #expect(try await source.page(.offset(20)).content.ids.first == "20")
    }

    @Test("An offset that the origin rounds down to whole pages is rejected (R21)")
    func roundedOffset() async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = (url.number("offset") ?? 0) / 20 * 20
            return .json(#"{"total":45,"items":[\#(objects(from: start, 20, of: 45))]}"#)
        }
        let source = try scripted("http://h/api", origin)
        _ = try await source.first()
        #expect(source.access == .single)
        #expect(
            source.explanation.contains(
                PagingDecision("paging", "offset as an offset", .failed, detail: "returned page one again")))
    }

    @Test(
        "An offset is found although page one lacks items (R53)",
        arguments: [Set(0..<1), Set(0..<9), Set(0..<19), [7], [18], [5, 18]])
    func hiddenInPageOne(hidden: Set<Int>) async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = min(url.number("offset") ?? 0, 45)
            let shown = (min(start, 45)..<min(start + 20, 45)).filter { !hidden.contains($0) }
            return .json("[\(shown.map { objects($0..<$0 + 1) }.joined(separator: ","))]")
        }
        let source = try scripted("http://h/api", origin)
        _ = try await source.first()
        #expect(source.access == .offsets, "\(source.explanation.map(\.description))")
        #expect(try await source.page(.offset(20)).content.ids.first == "20", "counted from 0")
        #expect(origin.requests.count <= 8)
    }

    @Test(
        "An offset is found although the second page is hidden, or the probe returns at most one item (R53)",
        arguments: [0, 1])
    func nothingBehindPageOne(most: Int) async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = min(url.number("offset") ?? 0, 65)
            let shown = (min(start, 65)..<min(start + 20, 65)).filter { most > 0 || !(20..<40).contains($0) }
            return .json("[\(shown.prefix(start == 19 ? 1 : 20).map { objects($0..<$0 + 1) }.joined(separator: ","))]")
        }
        let source = try scripted("http://h/api", origin)
        _ = try await source.first()
        #expect(source.access == .offsets)
    }

    @Test("A cursor is found although the second page is empty, if that page names a third one (R53)")
    func emptySecondPage() async throws {
        let origin = ScriptedOrigin { url, _ in
            let page = url.value(of: "cursor").flatMap { Int($0.dropFirst()) } ?? 0
            let items = page == 1 ? "" : objects(page * 20..<page * 20 + 20)
            return .json(#"{"items":[\#(items)],"has_more":\#(page < 3),"next_cursor":"c\#(page + 1)"}"#)
        }
        let source = try scripted("http://h/api", origin)
        _ = try await source.first()
        #expect(source.access == .chain, "\(source.explanation.map(\.description))")
    }

    @Test("A parameter that selects no items is not a cursor, whatever token the empty answer has")
    func emptyFilter() async throws {
        let origin = ScriptedOrigin { url, _ in
            // Every parameter filters the list, and an empty list has the same token.
            let items = url.value(of: "cursor") == nil ? objects(0..<20) : ""
            return .json(#"{"items":[\#(items)],"next_cursor":"c1"}"#)
        }
        let source = try scripted("http://h/api", origin)
        _ = try await source.first()
        #expect(
            source.explanation.contains {
                $0.description.contains("cursor for the token") && $0.description.contains("nothing")
            })
    }

    @Test("A filter parameter is not mistaken for a page number")
    func filter() async throws {
        let origin = ScriptedOrigin { url, _ in
            // `page=2` selects everything that is printed on page 2.
            if url.value(of: "page") != nil { return .json(#"{"total":3,"items":[\#(objects(30..<33))]}"#) }
            let start = url.number("skip") ?? 0
            return .json(#"{"total":45,"items":[\#(objects(from: start, 20, of: 45))]}"#)
        }
        let source = try scripted("http://h/api", origin)
        _ = try await source.first()
        #expect(source.access == .offsets)
        #expect(source.summary?.hasPrefix("offset, parameter skip") == true)
    }

    @Test("Items without ids that differ in each answer do not prove a page number")
    func volatile() async throws {
        let calls = Mutex(0)
        let origin = ScriptedOrigin { _, _ in
            let call = calls.withLock {
                $0 += 1; return $0
            }
            return .json("[\((0..<20).map { #"{"name":"n\#($0)","age":\#(call)}"# }.joined(separator: ","))]")
        }
        let source = try scripted("http://h/api", origin)
        _ = try await source.first()
        #expect(source.access == .single)
    }

    @Test("With page=0 in the URL the next page is 1, with and without a total", arguments: [true, false])
    func zeroBased(hasTotal: Bool) async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = (url.number("page") ?? 0) * 20
            return .json(
                #"{\#(hasTotal ? #""total":45,"# : "")"items":[\#(objects(from: start, 20, of: 45))]}"#)
        }
        let source = try scripted("http://h/api?page=0", origin)
        #expect(try await source.first().content.ids.first == "0")
        #expect(try await source.page(.offset(20)).content.ids.first == "20")
        #expect(origin.urls.contains("http://h/api?page=1"))
    }

    @Test("An offset proves itself although the list grows by an item during detection")
    func movingProbe() async throws {
        let count = Mutex(0)
        let origin = ScriptedOrigin { url, _ in
            let shift = count.withLock {
                $0 += 1; return $0 > 2 ? 1 : 0
            }
            let start = (url.number("offset") ?? 0) - shift
            return .json("[\(objects(start + 1_000..<start + 1_020))]")
        }
        let source = try scripted("http://h/api", origin)
        _ = try await source.first()
        #expect(source.access == .offsets)
    }

    @Test("With a next URL and a total, one request tests whether offsets work as well", arguments: [true, false])
    func chainOrOffsets(isHonoured: Bool) async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = url.number("cursor") ?? (isHonoured ? url.number("offset") ?? 0 : 0), end = min(start + 5, 45)
            return .json(
                #"{"total":45,"next":\#(end < 45 ? "\"/api?cursor=\(end)\"" : "null"),"items":[\#(objects(start..<end))]}"#
            )
        }
        let source = try scripted("http://h/api", origin)
        #expect(try await walk(source) == fortyFive)
        #expect(source.access == (isHonoured ? .offsets : .chain))
        #expect(origin.requests.count == 10)
        #expect(
            source.explanation.contains {
                $0.reason == (isHonoured ? .proved : .failed) && $0.value.hasPrefix("offset")
            })
    }

    @Test("A chain of only a few more pages is not probed for offsets")
    func shortChain() async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = url.number("cursor") ?? 0, end = min(start + 20, 45)
            return .json(
                #"{"total":45,"next":\#(end < 45 ? "\"/api?cursor=\(end)\"" : "null"),"items":[\#(objects(start..<end))]}"#
            )
        }
        #expect(try await walk(try scripted("http://h/api", origin)) == fortyFive)
        #expect(origin.requests.count == 3)
    }

    @Test(
        "Without a working parameter detection stops after eight requests, and the next run only repeats its warning")
    func noWay() async throws {
        let origin = ScriptedOrigin { _, _ in .json(#"{"total":45,"items":[\#(objects(0..<20))]}"#) }
        let source = try scripted("http://h/api", origin)
        let page = try await source.first()
        let spent = origin.requests.count
        #expect(spent <= 8)
        #expect(source.access == .single)
        #expect(page.detectedPaging?.warnings.first?.contains("counts 45 items") == true)
        let again = try scripted("http://h/api", origin, stored: page.detectedPaging?.source)
        #expect(try await again.first().detectedPaging?.warnings.first?.contains("counts 45 items") == true)
        #expect(origin.requests.count == spent + 1, "page one is the same, so that no search is due")
    }

    @Test("A failed detection is repeated when page one differs")
    func searchedAgain() async throws {
        let isMended = Mutex(false)
        let origin = ScriptedOrigin { url, _ in
            let start = isMended.withLock { $0 } ? url.number("offset") ?? 0 : 0
            return .json(#"{"total":\#(isMended.withLock { $0 } ? 46 : 45),"items":[\#(objects(start..<start + 20))]}"#)
        }
        let source = try scripted("http://h/api", origin)
        _ = try await source.first()
        #expect(source.access == .single)
        isMended.withLock { $0 = true }
        _ = try await source.first()
        #expect(source.access == .offsets)
    }

    @Test(
        "A failing origin leads to no conclusion, and the next run detects again",
        arguments: [429, 503])
    func interrupted(status: Int) async throws {
        let isWell = Mutex(false)
        let origin = ScriptedOrigin { url, _ in
            if url.value(of: "offset") != nil, !isWell.withLock({ $0 }) { return HTTPPageResponse(status: status) }
            let start = url.number("offset") ?? 0
            return .json(#"{"total":45,"items":[\#(objects(from: start, 20, of: 45))]}"#)
        }
        let source = try scripted("http://h/api", origin)
        let page = try await source.first()
        #expect(
            origin.requests.count == (status == 429 ? 2 : 3),
            "an origin that requests a pause gets no further requests, and a fault is tried again once")
        #expect(page.content.count == 20)
        #expect(page.detectedPaging?.warnings.first?.contains("the next run tries again") == true)
        isWell.withLock { $0 = true }
        let again = try scripted("http://h/api", origin, stored: page.detectedPaging?.source)
        _ = try await again.first()
        #expect(again.access == .offsets)
    }

    @Test("Redirects count as requests in the budget of eight, besides one repeat of a failed request")
    func redirects() async throws {
        let origin = ScriptedOrigin { url, _ in
            if url.value(of: "n").flatMap({ Int($0) }) ?? 3 < 3 {
                return HTTPPageResponse(
                    status: 302, headers: [HTTPField("Location", "/api?n=\((url.number("n") ?? 0) + 1)")])
            }
            if url.parameters.isEmpty { return .json("[\(objects(0..<20))]") }
            return HTTPPageResponse(status: 302, headers: [HTTPField("Location", "/api?n=0")])
        }
        _ = try await scripted("http://h/api", origin).first()
        #expect(origin.requests.count <= 9)
    }

    @Test("A full page without a next page is reported in a warning")
    func suspiciouslyRound() async throws {
        let source = try scripted("http://h/api", ScriptedOrigin { _, _ in .json("[\(objects(0..<20))]") })
        #expect(try await source.first().detectedPaging?.warnings.first?.contains("full page of 20 items") == true)
    }

    @Test("A count that may describe the page does not end the search, and is not a total when more items follow")
    func weakTotal() async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = url.number("offset") ?? 0, end = min(start + 20, 45)
            return .json(#"{"count":\#(end - start),"items":[\#(objects(start..<end))]}"#)
        }
        let source = try scripted("http://h/api", origin)
        let page = try await source.first()
        #expect(page.total == .unknown)
        #expect(source.access == .offsets)
    }

    @Test("Beside a total, has_more leads to the usual offset parameters before further keysets")
    func countedSkip() async throws {
        let origin = ScriptedOrigin { url, _ in
            let start = url.number("skip") ?? 0, end = min(start + 20, 45)
            return .json(#"{"total":45,"has_more":\#(end < 45),"items":[\#(objects(min(start, 45)..<end))]}"#)
        }
        let source = try scripted("http://h/api", origin)
        #expect(try await source.first().total == .exact(45) && source.summary?.contains("skip") == true)
    }

    @Test(
        "With a configured style only its parameter is detected",
        arguments: [
            (HTTPSourceConfiguration.Paging.offset, "skip"), (.page, "_page"), (.keyset, "starting_after"),
        ])
    func configuredStyle(style: HTTPSourceConfiguration.Paging, parameter: String) async throws {
        let origin = ScriptedOrigin { url, _ in
            let value = url.number(parameter)
            let start =
                style == .offset ? value ?? 0 : style == .page ? ((value ?? 1) - 1) * 20 : value.map { $0 + 1 } ?? 0
            return .json(#"{"items":[\#(objects(min(max(start, 0), 45)..<min(max(start, 0) + 20, 45)))]}"#)
        }
        let source = try scripted("http://h/api", origin) { $0.paging = style }
        _ = try await source.first()
        #expect(source.summary?.hasPrefix(style.rawValue + (style == .keyset ? " (" : ", ")) == true)
        #expect(source.summary?.contains(parameter) == true)
        #expect(!origin.requests.contains { $0.method == "HEAD" })
    }
}
#endif
