#if HTTP
import HTTPPageSource
import Testing

@Suite("A transport that was not closed")
struct ForgottenTransportTests {
    @Test("A transport that is no longer used and was not closed does not end the process")
    func forgotten() async {
        await #expect(processExitsWith: .success) {
            for _ in 0..<3 { _ = AsyncHTTPTransport() }
            // A transport with proxies has a client for each.
            var network = HTTPNetwork()
            network.httpProxy = try HTTPNetwork.Proxy("proxy.example:3128")
            network.httpsProxy = network.httpProxy
            for _ in 0..<3 { _ = AsyncHTTPTransport(network: network) }
            let closed = AsyncHTTPTransport()
            await closed.close()
            for _ in 0..<10_000 { await Task.yield() }
        }
    }
}
#endif
