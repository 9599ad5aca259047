#if Tool
import HostileOrigin
import ProgramSupport
import Testing
import ToolSupport

/// What ordinary servers do and careless clients trip over, against the built tool over real sockets, with nothing said
/// about the origin: how it pages is found out.
@Suite("Traps of real origins, over real sockets")
struct TrapTests {
    private static let items = (1...6).map(GoodList.item)

    /// An array at the top, and the way on in a header.
    private static func linked(
        _ request: HostileRequest, _ link: String
    ) -> (fields: [(name: String, value: String)], body: String) {
        request.parameter("after") == nil
            ? ([("link", "<\(link)>; rel=\"next\"")], "[\(GoodList.items(1...3))]") : ([], "[\(GoodList.items(4...6))]")
    }

    /// The same, with the first line and the framing of the answer by hand; HEAD is refused.
    /// - Parameter answer: the lines that come before the fields, and the steps that follow the head.
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
        #expect(try await bench.shown(path: path) == TrapTests.items)
        bench.expectPrintable(ended)
    }

    @Test(
        "JSON is JSON, whatever it is said to be",
        arguments: [
            "text/html; charset=utf-8", "text/plain", "application/vnd.api+json", "application/octet-stream",
            "image/png", "nonsense",
        ])
    func contentType(type: String) async throws {
        try await ToolBench.run { bench in
            bench.origin.set(
                "/list",
                .answers { request in
                    let (fields, body) = TrapTests.linked(request, "/list?after=3")
                    return .json(body, fields + [("Content-Type", type)])
                })
            try await expectAll(bench)
        }
    }

    @Test(
        "a relative link is relative to the page it stands in (RFC 3986, 5.2)",
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
                    let (fields, body) = TrapTests.linked(request, link)
                    return .json(body, fields)
                })
            try await expectAll(bench, path: "/v2/list")
        }
    }

    @Test("links in fields of their own, the next one among them")
    func manyLinks() async throws {
        try await ToolBench.run { bench in
            bench.origin.set(
                "/list",
                .answers { request in
                    let (fields, body) = TrapTests.linked(request, "/list?after=3")
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
        "a body in chunks of one byte, through letters of several bytes and through escapes; with an extension and a trailer"
    )
    func chunks() async throws {
        try await ToolBench.run { bench in
            bench.origin.set(
                "/list",
                TrapTests.byHand { body in
                    // In one piece: how fast it comes is another test's.
                    let chunks = body.utf8.flatMap { Array("1;made=by-hand\r\n".utf8) + [$0] + Array("\r\n".utf8) }
                    return (
                        ["HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "Trailer: X-Sum"],
                        [.bytes(chunks), .text("0\r\nX-Sum: 1\r\n\r\n")]
                    )
                })
            try await expectAll(bench)
        }
    }

    @Test("a body that ends with the connection, as HTTP/1.0 has it")
    func untilClosed() async throws {
        try await ToolBench.run { bench in
            bench.origin.set("/list", TrapTests.byHand { body in (["HTTP/1.0 200 OK"], [.text(body), .close]) })
            try await expectAll(bench)
        }
    }

    @Test("packed with gzip, whole or in chunks; asked for in so many words", arguments: [false, true])
    func gzip(isChunked: Bool) async throws {
        try await ToolBench.run { bench in
            bench.origin.set(
                "/list",
                TrapTests.byHand { body in
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

    @Test("early hints, and a go-ahead that nobody waited for, come before the answer (RFC 8297)")
    func interim() async throws {
        try await ToolBench.run { bench in
            bench.origin.set(
                "/list",
                Behaviour { request in
                    let (fields, body) = TrapTests.linked(request, "/list?after=3")
                    return [
                        .head("HTTP/1.1 100 Continue"),
                        .head("HTTP/1.1 103 Early Hints", "Link: </style.css>; rel=preload"),
                    ]
                        + RawAnswer.json(body, fields).steps(to: request)
                })
            try await expectAll(bench)
        }
    }

    @Test("a cookie is not taken, and so not given back")
    func cookies() async throws {
        try await ToolBench.run { bench in
            bench.origin.set(
                "/list",
                .answers { request in
                    let (fields, body) = TrapTests.linked(request, "/list?after=3")
                    return .json(
                        body, fields + [("Set-Cookie", "track=C00KIE; Path=/"), ("set-cookie", "again=C00KIE")])
                })
            try await expectAll(bench)
            _ = try await bench.sync()
            #expect(bench.origin.requests.count >= 3)
            #expect(bench.origin.requests.allSatisfy { $0.header("Cookie") == nil && !$0.text.contains("C00KIE") })
        }
    }

    @Test("R16: a total that only HEAD tells is asked for, and told")
    func headOnly() async throws {
        try await ToolBench.run { bench in
            bench.origin.set(
                "/list",
                .answers { request in
                    let (fields, body) = TrapTests.linked(request, "/list?after=3")
                    return .json(body, request.method == "HEAD" ? fields + [("Total-Objects", "6")] : fields)
                })
            let ended = try await bench.sync(["--json"])
            #expect(ended.status == 0, "\(ended.errors)")
            #expect(ended.json["total"] as? Int == 6)
            #expect(ended.json["total_kind"] as? String == "exact")
            #expect(try await bench.shown() == TrapTests.items)
        }
    }

    @Test(
        "R1, R16: an entity tag outlives the process, and goes back as it came",
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
            #expect(try await bench.shown() == TrapTests.items)
        }
    }

    @Test("an origin that closes the connection behind each answer is asked on a new one")
    func closing() async throws {
        try await ToolBench.run { bench in
            bench.origin.set(
                "/list",
                Behaviour { request in
                    let (fields, body) = TrapTests.linked(request, "/list?after=3")
                    return RawAnswer.json(body, fields + [("Connection", "close")]).steps(to: request) + [.close]
                })
            try await expectAll(bench)
        }
    }
}
#endif
