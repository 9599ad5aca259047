#if Tool
import HostileOrigin
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport

@Suite("A proxy from the environment")
struct ProxyTests {
    @Test("A proxy for http gets the whole URL and its own credential, which appears nowhere else (R45)")
    func absoluteForm() async throws {
        try await ToolBench.run { bench in
            bench.origin.set("http://no-such-host.invalid/list", GoodList.behaviour)
            let proxy = bench.root.replacing("http://", with: "http://me:\(Secret.password)@")
            let ended = try await Tool.run(
                ["sync", "http://no-such-host.invalid/list", "--store", bench.folder.store, "--wait", "0s", "-v"],
                environment: ["HTTP_PROXY": proxy])
            let first = try #require(bench.origin.requests.first)
            #expect(first.target == "http://no-such-host.invalid/list")
            #expect(first.header("host") == "no-such-host.invalid")
            #expect(first.header("proxy-authorization")?.hasPrefix("Basic ") == true)
            #expect(ended.status != 69, "\(ended.errors)")
            #expect(!(ended.output + ended.errors).contains(Secret.password))
        }
    }

    @Test("A host in NO_PROXY is reached without the proxy, and a proxy that is unreachable is named")
    func direct() async throws {
        try await ToolBench.run { bench in
            let away = ["HTTP_PROXY": "http://127.0.0.1:1"]
            let direct = try await Tool.run(
                ["sync", bench.list, "--store", bench.folder.store],
                environment: away.merging(["NO_PROXY": "127.0.0.1"]) { $1 })
            #expect(direct.status == 0, "\(direct.errors)")
            let ended = try await Tool.run(
                ["sync", "\(bench.root)/other", "--store", bench.folder.store, "--wait", "0s", "--retries", "1"],
                environment: away)
            #expect(ended.status == 69)
            #expect(ended.errors.contains("through the proxy 127.0.0.1:1: connection refused"))
        }
    }
}
#endif
