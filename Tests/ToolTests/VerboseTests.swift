#if Tool
import DemoOrigin
import Foundation
import HTTPPageSource
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport
@testable import pagecache

@Suite("Requests in --verbose")
struct VerboseTests {
    private let folder = Folder()

    @Test("-v shows each request with its status, size and time, and no secret")
    func requests() async throws {
        let origin = DemoOrigin(count: 250)
        try await withOrigin(origin) { root in
            let ended = try await folder.tool(
                ["sync", "\(root)/items?api_key=S3CRETKEY", "-v", "--bearer-env", "TOKEN"],
                environment: ["TOKEN": "S3CRETTOKEN"])
            #expect(ended.status == 0, "\(ended.errors)")
            #expect(
                ended.errors.firstMatch(of: /pagecache: GET \/items\?.*api_key=… → 200, [\d.]+ KB, \d+ ms/) != nil,
                "\(ended.errors)")
            #expect(!ended.errors.contains("S3CRET"))
            let plain = try await folder.tool(["sync", "\(root)/feed"])
            #expect(!plain.errors.contains("GET /"))
        }
    }

    @Test(
        "The origin's own error message is found in its answer",
        arguments: [
            (503, #"{"message":"down for repair"}"#, "down for repair"),
            (400, #"{"error":{"code":7,"message":"bad \u0007filter"}}"#, "bad \\u{7}filter"),
            (422, #"{"errors":[{"detail":"no such field"}]}"#, "no such field"),
            (400, #"{"Message":"no such server"}"#, "no such server"),
            (200, #"{"error":"quota exceeded","items":[]}"#, "quota exceeded"),
            (200, #"{"message":"ok","items":[]}"#, nil), (200, #"{"error":null,"items":[]}"#, nil),
            (200, #"{"error":"","items":[]}"#, nil), (500, "<html>", nil), (500, "", nil), (304, "", nil),
        ] as [(Int, String, String?)])
    func messages(status: Int, body: String, expected: String?) {
        let response = HTTPPageResponse(status: status, headers: [], body: Array(body.utf8))
        #expect(OriginMessage.find(in: response) == expected)
    }

    @Test("In a run of several lists, the line about the message of an origin names the list")
    func named() {
        func line(_ status: Int, _ name: String?) -> String { OriginMessage.line("x", status: status, name: name) }
        #expect(line(403, nil) == "the origin says: x")
        #expect(line(403, "2kt6gxhe") == "2kt6gxhe: the origin says: x")
        #expect(line(200, "2kt6gxhe") == "2kt6gxhe: the origin answered 200 with an error: x")
    }

    @Test("Only messages of 429 and 5xx answers count as passing", arguments: [400, 401, 403, 404, 422, 429, 500, 503])
    func refusals(status: Int) {
        #expect(OriginMessage.mayPass(status) == (status == 429 || status >= 500))
    }

    @Test("A message is cut to 200 characters, and values that the request keeps secret are hidden in it")
    func secrets() {
        let long = HTTPPageResponse(
            status: 500, headers: [], body: Array(#"{"message":"\#(String(repeating: "x", count: 900))"}"#.utf8))
        #expect(OriginMessage.find(in: long)?.count == 200)
        let request = HTTPPageRequest(
            url: "https://api.example.com/v1/items?sort=name&token=S3CRETKEY&offset=50&pin_code=12345678",
            headers: [HTTPField("Authorization", "Bearer S3CRETTOKEN"), HTTPField("Accept", "application/json")])
        let text = RequestText(request)
        #expect(text.target == "/v1/items?sort=name&token=…&offset=50&pin_code=…")
        #expect(!text.target.contains("S3CRET") && !text.target.contains("12345678"))
        #expect(
            text.hidingSecrets("invalid S3CRETTOKEN and S3CRETKEY, application/json")
                == "invalid … and …, application/json")
    }
}
#endif
