#if Tool
import DemoOrigin
import Foundation
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport

// `probe`, and the binding of a list to its URL.
extension ToolTests {
    @Test("probe shows how an origin pages and what a sync would cost, and stores nothing")
    func probed() async throws {
        try await withOrigin(DemoOrigin(count: 550)) { root in
            let ended = try await Tool.run(["probe", "\(root)/items", "--store", folder.store, "--json"])
            #expect(ended.status == 0, "\(ended.errors)")
            #expect(ended.json["proven"] as? Bool == true)
            #expect(ended.json["total"] as? Int == 550)
            #expect(ended.json["estimated_requests"] as? Int ?? 0 > 1)
            let plain = try await Tool.run(["probe", "\(root)/items", "--store", folder.store])
            #expect(plain.output.contains("paging "))
            #expect(plain.output.contains("550"))
            #expect(folder.contents == [])
        }
    }

    @Test("Another URL under a key ends with 64 and names the URL of the list, and --rebind takes the list over")
    func rebound() async throws {
        try await withOrigin(DemoOrigin(count: 60)) { root in
            func run(_ arguments: [String]) async throws -> Program.Ended {
                try await Tool.run(["sync"] + arguments + ["--key", "orders", "--store", folder.store, "--json"])
            }
            #expect(try await run(["\(root)/items"]).status == 0)
            let other = try await run(["\(root)/feed"])
            #expect(other.status == 64)
            #expect(other.errors.contains("'orders' is bound to \(root)/items"))
            #expect(try await run(["\(root)/feed", "--offline"]).status == 64)
            let bound = try await run(["\(root)/feed", "--rebind"])
            #expect(bound.status == 0, "\(bound.errors)")
            #expect(try await run(["\(root)/items"]).status == 64)
        }
    }

    @Test("--rebind compares every page with the new origin, also where page one is the same (R47)")
    func reboundPages() async throws {
        let (old, new) = (DemoOrigin(count: 250), DemoOrigin(count: 250))
        try await withOrigin(old) { first in
            try await withOrigin(new) { second in
                func run(_ url: String, _ key: String, _ options: [String] = []) async throws -> Program.Ended {
                    try await Tool.run(["sync", url, "--key", key, "--store", folder.store, "--json"] + options)
                }
                #expect(try await run("\(first)/items", "k").status == 0)
                // The total and page one are those of the old origin.
                new.remove(at: 180)
                new.insert(at: 180)
                let bound = try await run("\(second)/items", "k", ["--rebind"])
                #expect(bound.status == 0, "\(bound.errors)")
                #expect(bound.json["reconciliation"] as? String == "swept")
                #expect(try await run("\(second)/items", "other").status == 0)
                #expect(try await shownIDs(folder, "k") == shownIDs(folder, "other"))
            }
        }
    }

    @Test(
        "A port that does not exist, and a host outside ASCII, end with 64 and one line",
        arguments: ["http://127.0.0.1:99999/x", "http://127.0.0.1:0/x", "http://bücher.example/x"])
    func unusableURL(url: String) async throws {
        for command in ["sync", "probe"] {
            let ended = try await Tool.run([command, url, "--store", folder.store])
            #expect(ended.status == 64)
            #expect(ended.errors.split(separator: "\n").count == 1)
            #expect(ended.errors.contains("not usable"))
            #expect(folder.contents == [])
        }
    }

    @Test("An invalid proxy, a missing file of authorities and a missing body end with 64 and one line")
    func unusableNetwork() async throws {
        let url = "http://127.0.0.1:1/x"
        for arguments in [
            ["--cacert", "\(folder.path)/none.pem"], ["--method", "POST", "--body", "\(folder.path)/none.json"],
            ["--body", "x"], ["--method", "PUT"], ["--method", "POST", "--cursor-in", "after"],
        ] {
            let ended = try await Tool.run(["sync", url, "--store", folder.store] + arguments)
            #expect(ended.status == 64, "\(arguments): \(ended.errors)")
            #expect(ended.errors.split(separator: "\n").count == 1, "\(ended.errors)")
        }
        #expect(folder.contents == [])
    }
}
#endif
