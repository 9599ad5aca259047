#if Tool
import DemoOrigin
import HTTPPageSource
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport

@testable import pagecache

/// A library names its settings as Swift does, and the tool shows its options instead.
@Suite("Options in place of settings")
struct SettingNamesTests {
    private let folder = Folder()

    @Test("Every setting has an option", arguments: HTTPSourceConfiguration.Setting.allCases)
    func settings(setting: HTTPSourceConfiguration.Setting) {
        let shown = SettingNames.options(in: "\(setting)")
        #expect(!shown.contains("HTTPSourceConfiguration"))
        #expect(shown.hasPrefix("--") || setting == .key)
    }

    @Test(
        "Values follow their options, and settings in a row become a command",
        arguments: [
            ("name one with HTTPSourceConfiguration.paging", "name one with --paging"),
            ("HTTPSourceConfiguration.next = /n is not confirmed: no", "--next /n is not confirmed: no"),
            (
                "HTTPSourceConfiguration.paging = cursor, HTTPSourceConfiguration.next = /n",
                "--paging cursor --next /n"
            ),
            ("not trusted; HTTPNetwork.certificates names it", "not trusted; --cacert names it"),
            ("the origin answered 500, later", "the origin answered 500, later"),
        ])
    func texts(text: String, shown: String) {
        #expect(SettingNames.options(in: text) == shown)
    }

    @Test("A refused setting is shown as its option, in a line and in JSON")
    func refused() async throws {
        try await withOrigin(DemoOrigin(count: 45)) { root in
            let arguments = ["sync", "\(root)/items", "--total", "/totall"]
            let ended = try await folder.tool(arguments)
            #expect(ended.errors.contains("--total /totall is not confirmed"), "\(ended.errors)")
            #expect(!(ended.output + ended.errors).contains("HTTPSourceConfiguration"))
            let json = try await folder.tool(arguments + ["--json"])
            #expect((json.output + json.errors).contains("--total /totall is not confirmed"), "\(json.errors)")
        }
    }
}
#endif
