#if HTTP
import PageModel
import Testing

@testable import HTTPPageSource

@Suite("Proxies and trusted certificates from the environment")
struct NetworkTests {
    private func proxy(_ url: String, _ environment: [String: String]) throws -> String? {
        try HTTPNetwork(environment: environment).proxy(for: try #require(OriginURL(url)))?.description
    }

    @Test("The scheme of the URL chooses the proxy, and names in lower case come first")
    func choice() throws {
        let environment = [
            "HTTP_PROXY": "http://a:1", "http_proxy": "b:2", "HTTPS_PROXY": "http://c:3", "SSL_CERT_FILE": "/x.pem",
        ]
        #expect(try proxy("http://h/", environment) == "b:2")
        #expect(try proxy("https://h/", environment) == "c:3")
        #expect(try proxy("https://h/", ["HTTP_PROXY": "a:1", "HTTPS_PROXY": ""]) == nil)
        #expect(try HTTPNetwork(environment: environment).certificates == "/x.pem")
    }

    @Test(
        "NO_PROXY names hosts with their subdomains, hosts with a port, or all hosts",
        arguments: [
            ("h.example", true), ("example", true), (".example", true), ("h.example:8080", true), ("*", true),
            ("other, h.example", true), ("ample", false), ("h.example:80", false), ("", false),
        ])
    func direct(entry: String, isDirect: Bool) throws {
        let found = try proxy("http://h.example:8080/", ["HTTP_PROXY": "a:1", "NO_PROXY": entry])
        #expect((found == nil) == isDirect)
    }

    @Test("A proxy of another kind is refused, and the message names the variable and no credential")
    func refused() {
        for text in ["socks5://u:S3CRET99@a:1", "https://u:S3CRET99@a:1", "http://u:S3CRET99@a:99999"] {
            #expect {
                try HTTPNetwork(environment: ["HTTPS_PROXY": text])
            } throws: { error in
                let message = (error as? FetchFailure)?.message ?? ""
                return message.hasPrefix("HTTPS_PROXY: ") && !message.contains("S3CRET99")
            }
        }
    }

    @Test("A proxy's credential is sent to the proxy, and never printed")
    func credential() throws {
        let proxy = try HTTPNetwork.Proxy("http://me:S3CRET99@a:1")
        #expect(proxy.authorization == "Basic bWU6UzNDUkVUOTk=")
        var text = "\(proxy)"
        dump(proxy, to: &text)
        #expect(!text.contains("S3CRET99"))
    }
}
#endif
