#if Tool
import Foundation
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport

/// Where credentials come from, and which origins receive them (R45).
@Suite("pagecache and credentials")
struct CredentialTests {
    private let folder = Folder()

    private func tool(_ arguments: [String], environment: [String: String] = [:]) async throws -> Program.Ended {
        try await Tool.run(arguments + ["--store", folder.store], environment: environment)
    }

    /// Starts a server that records the credentials of each request. Returns the server, its folder and its URL.
    private func listener() async throws -> (server: Program, place: Folder, root: String) {
        let script = """
            import http.server, sys
            class H(http.server.BaseHTTPRequestHandler):
                def do_GET(self):
                    with open(sys.argv[1] + '/seen', 'a') as f: f.write(self.path.split('?')[0] + ' ' + (self.headers.get('Authorization') or 'none') + ' ' + (self.headers.get('X-Plain') or 'none') + '\\n')
                    body = b'{"count":1,"results":[{"id":1}]}'
                    self.send_response(200); self.send_header('Content-Type', 'application/json'); self.send_header('Content-Length', str(len(body))); self.end_headers(); self.wfile.write(body)
                def log_message(self, *a): pass
            s = http.server.HTTPServer(('127.0.0.1', 0), H)
            with open(sys.argv[1] + '/port.new', 'w') as f: f.write(str(s.server_port))
            import os; os.rename(sys.argv[1] + '/port.new', sys.argv[1] + '/port')
            s.serve_forever()
            """
        let place = Folder()
        let server = try await Program("/usr/bin/env", ["python3", "-c", script, place.path])
        try await eventually("it serves") { place.contents.contains("port") }
        let root = "http://127.0.0.1:\(try String(contentsOfFile: "\(place.path)/port", encoding: .utf8))"
        return (server, place, root)
    }

    private func seen(_ place: Folder) throws -> Set<String> {
        Set(try String(contentsOfFile: "\(place.path)/seen", encoding: .utf8).split(separator: "\n").map(String.init))
    }

    /// Creates a file that only its owner may read by default.
    private func file(_ name: String, _ text: String, mode: Int = 0o600) throws -> String {
        let path = "\(folder.path)/\(name)"
        folder.createFile(path, text)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        return path
    }

    @Test("A token and headers from files are sent and stored nowhere")
    func files() async throws {
        let (server, place, root) = try await listener()
        defer { server.signal(SIGKILL) }
        let secrets = Folder()
        let token = "\(secrets.path)/token"
        secrets.createFile(token, "S3CRET\n")
        let headers = "\(secrets.path)/headers"
        secrets.createFile(headers, "# how we are known\r\nX-Plain: S3CRET2\r\n\r\nAuthorization:Bearer S3CRET3\n")
        for path in [token, headers] {
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        }
        let first = try await tool(["sync", "\(root)/token", "--bearer-file", token])
        #expect(first.status == 0, "\(first.errors)")
        let second = try await tool(["sync", "\(root)/headers", "--header-file", headers])
        #expect(second.status == 0, "\(second.errors)")
        #expect(try seen(place) == ["/token Bearer S3CRET none", "/headers Bearer S3CRET3 S3CRET2"])
        #expect(!(first.output + first.errors + second.output + second.errors).contains("S3CRET"))
        #expect(!first.errors.contains("can be read by others"))
        for name in folder.contents {
            let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(folder.path)/\(name)"))
            #expect(bytes.range(of: Data("S3CRET".utf8)) == nil, "\(name)")
        }
    }

    @Test("A file that others may read leads to a warning, and secrets in --header to a single one")
    func warnings() async throws {
        let token = try file("token", "S3CRET", mode: 0o644)
        let ended = try await tool([
            "sync", "http://127.0.0.1:1/items", "--bearer-file", token, "--header", "Cookie: a=S3CRET", "--header",
            "X-API-Key: S3CRET",
        ])
        #expect(ended.status == 69)
        let warnings = ended.errors.split(separator: "\n").filter { $0.hasPrefix("pagecache: warning: ") }
        #expect(warnings.count == 2, "\(ended.errors)")
        #expect(warnings.count { $0.contains("can be read by others") } == 1)
        #expect(warnings.count { $0.contains("--header") } == 1)
        #expect(!ended.errors.contains("S3CRET"))
    }

    @Test(
        "An invalid credential is refused before any request, and not printed",
        arguments: [
            ("--bearer-file", "", 64), ("--bearer-file", "two\nS3CRET", 64), ("--header-file", "S3CRET", 64),
            ("--header-file", ": S3CRET", 64),
            ("--header-file", String(repeating: "X-A: S3CRET\n", count: 10_000), 64),
        ] as [(String, String, Int32)])
    func refused(option: String, text: String, status: Int32) async throws {
        let ended = try await tool(["sync", "http://127.0.0.1:1/items", option, try file("secret", text)])
        #expect(ended.status == status, "\(ended.errors)")
        #expect(ended.errors.split(separator: "\n").count == 1)
        #expect(!ended.errors.contains("S3CRET"))
    }

    @Test("A missing credential file, and two tokens at once, are usage errors")
    func usage() async throws {
        let none = try await tool(["retry", "--bearer-file", "\(folder.path)/none"])
        #expect(none.status == 66, "the missing store is reported first")
        let missing = try await tool(["sync", "http://127.0.0.1:1/items", "--bearer-file", "\(folder.path)/none"])
        #expect(missing.status == 64)
        #expect(missing.errors.contains("there is no file"))
        let both = try await tool(["sync", "http://127.0.0.1:1/items", "--bearer-file", "x", "--bearer-env", "Y"])
        #expect(both.status == 64)
        #expect(both.errors.contains("exclude each other"))
    }

    @Test(
        "With several lists a credential is sent to the lists that were fetched with it, and to no other origin (R45)")
    func credentials() async throws {
        let (server, place, root) = try await listener()
        defer { server.signal(SIGKILL) }
        let secret = ["TOKEN": "S3CRET"]
        #expect(
            try await tool(["sync", "\(root)/mine", "--bearer-env", "TOKEN", "--quiet"], environment: secret).status
                == 0)
        let open = try #require(try await tool(["sync", "\(root)/open", "--json"]).json["query"] as? String)
        for name in ["mine", "open"] {
            _ = try await tool(["pin", "127.0.0.1:\(root.split(separator: ":").last ?? "")/\(name)"])
        }
        #expect(try seen(place) == ["/mine Bearer S3CRET none", "/open none none"])

        let plain = ["--header", "X-Plain: 1", "--bearer-env", "TOKEN"]
        let due = try await tool(["sync", "--due", "--stale-after", "0s", "--json"] + plain, environment: secret)
        #expect(due.status == 0, "\(due.errors)")
        #expect(due.jsonArray.count == 2)
        #expect(
            try seen(place).subtracting(["/mine Bearer S3CRET none", "/open none none"]) == ["/mine Bearer S3CRET 1"])

        // Without the credential this list is skipped and the other is not. The exit code says that an operator is
        // needed.
        let without = try await tool(["sync", "--due", "--stale-after", "0s", "--json"])
        #expect(without.status == 77)
        #expect(
            without.jsonArray.map { $0["outcome"] as? String }.sorted { $0 ?? "" < $1 ?? "" } == ["complete", "failed"])
        #expect(without.jsonArray.first { $0["query"] as? String == open }?["outcome"] as? String == "complete")
        #expect(without.errors.contains("needs the credential"))
        #expect(!(due.output + due.errors + without.errors).contains("S3CRET"))
    }
}
#endif
