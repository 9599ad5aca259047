#if HTTP
import Testing

@testable import HTTPPageSource

@Suite("Recognizing secrets (R45)")
struct SecretWordsTests {
    private let words = SecretWords(
        headers: [HTTPField("Authorization", "Bearer 0123456789"), HTTPField("Cookie", "a=b; sid=c00kie-c00kie")],
        parameters: [OriginURL.Parameter(name: "key", value: "p%2Bq%2Br%2Bs%2Bt")])

    @Test(
        "A secret is found verbatim, in any case, percent-encoded and within a text",
        arguments: [
            "0123456789", "x0123456789y", "Bearer 0123456789", "C00KIE-c00kie", "c00kie%2Dc00kie", "p%2Bq%2Br%2Bs%2Bt",
            "p+q+r+s+t",
            "%30123456789",
            "0123456789\u{301}",
        ])
    func found(text: String) {
        #expect(words.isIn(text))
        #expect(!words.isIn(words.hidden(text)))
    }

    @Test(
        "A text without a secret is unchanged, and short words are not searched for",
        arguments: ["", "012345678", "a=b", "b", "Bearer", "sid", "key", "ok"])
    func notFound(text: String) {
        #expect(!words.isIn(text))
        #expect(words.hidden(text) == text)
    }

    @Test("The rest of a message is kept when a secret is replaced")
    func hidden() {
        #expect(words.hidden("no key 0123456789 at h, nor 0123456789") == "no key [secret] at h, nor [secret]")
        #expect(words.hidden("é 0123456789 é") == "é [secret] é")
    }

    @Test(
        "Headers that carry a credential are recognized by name",
        arguments: [
            ("Authorization", true), ("proxy-authorization", true), ("X-Api-Key", true), ("Api-Key", true),
            ("apikey", true),
            ("X-Auth-Token", true),
            ("Cookie", true), ("Ocp-Apim-Subscription-Key", true), ("X-Amz-Security-Token", true),
            ("X-Signature", true),
            ("X-Named", true),
            ("Accept", false), ("User-Agent", false), ("Accept-Language", false), ("X-Request-Id", false),
        ])
    func headers(name: String, isCredential: Bool) {
        var configuration = HTTPSourceConfiguration(url: "https://h")
        configuration.secretHeaders = ["x-NAMED"]
        #expect(configuration.isCredential(name) == isCredential)
    }
}
#endif
