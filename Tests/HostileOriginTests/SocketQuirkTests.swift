#if Tool
import HostileOrigin
import ProgramSupport
import Testing
import ToolSupport

/// Usual behaviour of real servers that breaks careless clients. The built tool detects the paging over real sockets,
/// without options about the origin.
@Suite("Pitfalls of real origins over real sockets")
struct SocketQuirkTests {
    private static let items = (1...6).map(GoodList.item)

    /// Returns an array at the top level, with the next link in a header.
    private static func linked(
        _ request: HostileRequest, _ link: String
    ) -> (fields: [(name: String, value: String)], body: String) {
        request.parameter("after") == nil
            ? ([("link", "<\(link)>; rel=\"next\"")], "[\(GoodList.items(1...3))]") : ([], "[\(GoodList.items(4...6))]")
    }

    /// Returns the same list with a handmade status line and framing. HEAD is refused.
    /// - Parameter answer: Returns the lines before the header fields, and the steps after the head.
    private static func byHand(_ answer: @escaping @Sendable (_ body: String) -> (lines: [String], steps: [Step]))
        -> Behaviour
    {
        Behaviour { request in
            if request.method == "HEAD" { return RawAnswer.status(405).steps(to: request) }
            let (fields, body) = linked(request, "/list?after=3")
            let (lines, steps) = answer(body)
            let head = lines + ["Content-Type: application/json"] + fields.map { "\($0.name): \($0.value)" }
            return [.text(head.map { $0 + "\r\n" }.joined() + "\r\n")] + steps
        }
    }

    private func expectAll(_ bench: ToolBench, path: String = "/list") async throws {
        let ended = try await bench.sync(["--json"], path: path)
        #expect(ended.status == 0, "\(ended.errors)")
        #expect(ended.json["outcome"] as? String == "complete")
        #expect(try await bench.shown(path: path) == SocketQuirkTests.items)
        bench.expectPrintable(ended)
    }

    @Test(
        "A JSON body is accepted with any content type",
        arguments: [
            "text/html; charset=utf-8", "text/plain", "application/vnd.api+json", "application/octet-stream",
            "image/png", "nonsense",
        ])
    func contentType(type: String) async throws {
        try await ToolBench.run { bench in
            bench.origin.set(
                "/list",
                .answers { request in
                    let (fields, body) = SocketQuirkTests.linked(request, "/list?after=3")
                    return .json(body, fields + [("Content-Type", type)])
                })
            try await expectAll(bench)
        }
    }

    @Test(
        "A relative link is resolved against its page (RFC 3986, 5.2)",
        arguments: [
            "/v2/list?after=3", "?after=3", "list?after=3", "./list?after=3", "../v2/list?after=3",
            "//HOST/v2/list?after=3",
            "http://HOST/v2/list?after=3",
        ])
    func relative(link: String) async throws {
        try await ToolBench.run { bench in
            let link = link.replacing("HOST", with: String(bench.root.dropFirst("http://".count)))
            bench.origin.set(
                "/v2/list",
                .answers { request in
                    let (fields, body) = SocketQuirkTests.linked(request, link)
                    return .json(body, fields)
                })
            try await expectAll(bench, path: "/v2/list")
        }
    }

    @Test("The next link is found among several Link fields")
    func manyLinks() async throws {
        try await ToolBench.run { bench in
            bench.origin.set(
                "/list",
                .answers { request in
                    let (fields, body) = SocketQuirkTests.linked(request, "/list?after=3")
                    let others = [
                        ("Link", "</other>; rel=\"describedby\""),
                        ("Link", "</list>; rel=first, </list?after=99>; rel=\"last\""),
                    ]
                    return .json(body, others + fields)
                })
            try await expectAll(bench)
        }
    }

    @Test(
        "A body in chunks of one byte is decoded, across multi-byte characters and escapes, with an extension and a trailer"
    )
    func chunks() async throws {
        try await ToolBench.run { bench in
            bench.origin.set(
                "/list",
                SocketQuirkTests.byHand { body in
                    // All chunks are sent at once, because another test covers slow bodies.
                    let chunks = body.utf8.flatMap { Array("1;made=by-hand\r\n".utf8) + [$0] + Array("\r\n".utf8) }
                    return (
                        ["HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "Trailer: X-Sum"],
                        [.bytes(chunks), .text("0\r\nX-Sum: 1\r\n\r\n")]
                    )
                })
            try await expectAll(bench)
        }
    }

    @Test("A body that ends with the connection is accepted, as in HTTP/1.0")
    func untilClosed() async throws {
        try await ToolBench.run { bench in
            bench.origin.set("/list", SocketQuirkTests.byHand { body in (["HTTP/1.0 200 OK"], [.text(body), .close]) })
            try await expectAll(bench)
        }
    }

    @Test("A gzip body is decoded, whole or in chunks, and requests accept gzip explicitly", arguments: [false, true])
    func gzip(isChunked: Bool) async throws {
        try await ToolBench.run { bench in
            bench.origin.set(
                "/list",
                SocketQuirkTests.byHand { body in
                    let packed = Gzip.stored(Array(body.utf8))
                    let framing = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: \(packed.count)"
                    let chunks: [Step] = [
                        .chunk(Array(packed.prefix(20))), .chunk(Array(packed.dropFirst(20))), .lastChunk,
                    ]
                    return (
                        ["HTTP/1.1 200 OK", "Content-Encoding: gzip", framing], isChunked ? chunks : [.bytes(packed)]
                    )
                })
            try await expectAll(bench)
            let encodings = bench.origin.requests.filter { $0.method == "GET" }.map {
                $0.header("Accept-Encoding") ?? ""
            }
            #expect(encodings.allSatisfy { $0.contains("gzip") && !$0.contains("br") })
        }
    }

    @Test("Interim answers before the final one are skipped (RFC 8297)")
    func interim() async throws {
        try await ToolBench.run { bench in
            bench.origin.set(
                "/list",
                Behaviour { request in
                    let (fields, body) = SocketQuirkTests.linked(request, "/list?after=3")
                    return [
                        .head("HTTP/1.1 100 Continue"),
                        .head("HTTP/1.1 103 Early Hints", "Link: </style.css>; rel=preload"),
                    ]
                        + RawAnswer.json(body, fields).steps(to: request)
                })
            try await expectAll(bench)
        }
    }

    @Test("A cookie from the origin is ignored and never sent back")
    func cookies() async throws {
        try await ToolBench.run { bench in
            bench.origin.set(
                "/list",
                .answers { request in
                    let (fields, body) = SocketQuirkTests.linked(request, "/list?after=3")
                    return .json(
                        body, fields + [("Set-Cookie", "track=C00KIE; Path=/"), ("set-cookie", "again=C00KIE")])
                })
            try await expectAll(bench)
            _ = try await bench.sync()
            #expect(bench.origin.requests.count >= 3)
            #expect(bench.origin.requests.allSatisfy { $0.header("Cookie") == nil && !$0.text.contains("C00KIE") })
        }
    }

    @Test("A total that only HEAD returns is requested and reported (R16)")
    func headOnly() async throws {
        try await ToolBench.run { bench in
            bench.origin.set(
                "/list",
                .answers { request in
                    let (fields, body) = SocketQuirkTests.linked(request, "/list?after=3")
                    return .json(body, request.method == "HEAD" ? fields + [("Total-Objects", "6")] : fields)
                })
            let ended = try await bench.sync(["--json"])
            #expect(ended.status == 0, "\(ended.errors)")
            #expect(ended.json["total"] as? Int == 6)
            #expect(ended.json["total_kind"] as? String == "exact")
            #expect(try await bench.shown() == SocketQuirkTests.items)
        }
    }

    @Test(
        "An entity tag persists across processes and is sent back as received (R1, R16)",
        arguments: [#""v1""#, #"W/"v1""#, "v1"])
    func entityTags(tag: String) async throws {
        try await ToolBench.run { bench in
            bench.origin.set(
                "/list",
                .answers { request in
                    if request.parameter("after") != nil { return .json(GoodList.page(4...6)) }
                    let isSame = request.header("If-None-Match") == tag
                    return isSame ? .status(304, [("ETag", tag)]) : .json(GoodList.pageOne, [("ETag", tag)])
                })
            try await expectAll(bench)
            let before = bench.origin.requests.count
            let again = try await bench.sync(["--json"])
            #expect(again.status == 0, "\(again.errors)")
            #expect(again.json["reconciliation"] as? String == "unchanged")
            let asked = bench.origin.requests.dropFirst(before)
            #expect(asked.contains { $0.header("If-None-Match") == tag }, "\(asked.map(\.text))")
            #expect(try await bench.shown() == SocketQuirkTests.items)
        }
    }

    @Test("A connection that the origin closes after each answer is replaced by a new one")
    func closing() async throws {
        try await ToolBench.run { bench in
            bench.origin.set(
                "/list",
                Behaviour { request in
                    let (fields, body) = SocketQuirkTests.linked(request, "/list?after=3")
                    return RawAnswer.json(body, fields + [("Connection", "close")]).steps(to: request) + [.close]
                })
            try await expectAll(bench)
        }
    }
}
#endif
