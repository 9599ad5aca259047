#if Tool
import Foundation
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport
@testable import pagecache

/// Suggested commands find the store of the run that suggests them.
@Suite("The store in suggested commands")
struct StoreHintTests {
    private let folder = Folder()

    @Test(
        "The option appears where the store was named on the command line, quoted for a shell, and without a password",
        arguments: [
            (nil, nil, nil), (nil, "/a", nil), ("/a", "/a", nil), ("/a", nil, "--store /a"),
            ("/a", "/b", "--store /a"), ("/my data/$x.sqlite", nil, #"--store "/my data/\$x.sqlite""#),
            ("it's", nil, #"--store "it's""#), ("/a\nb", nil, nil),
            ("postgres://me:secret@h/db?sslmode=require", nil, #"--store "postgres://me@h/db?sslmode=require""#),
            ("postgres://h/db?password=secret&user=me", nil, #"--store "postgres://h/db?user=me""#),
        ] as [(String?, String?, String?)])
    func option(store: String?, variable: String?, expected: String?) {
        #expect(StoreHint.option(for: store, variable: variable) == expected)
    }

    @Test("Every command in a message that reads a store has the option, and no other command")
    func commands() {
        func added(_ text: String) -> String { StoreHint.adding("--store /a", to: text) }
        #expect(
            added("'pagecache list' or 'pagecache why x'; see 'pagecache sync --help'")
                == "'pagecache list --store /a' or 'pagecache why x --store /a'; see 'pagecache sync --help'")
        #expect(added("'pagecache demo' and 'sync --due'") == "'pagecache demo' and 'sync --due'")
        #expect(StoreHint.adding(nil, to: "'pagecache list'") == "'pagecache list'")
    }

    @Test("A hint names the store that --store gave, and not the store of PAGECACHE_STORE")
    func hints() async throws {
        let path = "\(folder.path)/my store.sqlite"
        let named = try await Tool.run(["list", "--store", path])
        #expect(named.status == 66)
        #expect(named.errors.contains("'pagecache sync URL --store \"\(path)\"'"), "\(named.errors)")
        let json = try await Tool.run(["doctor", "--json", "--store", path])
        #expect(
            json.jsonArray.contains { ($0["hint"] as? String)?.contains("--store \"\(path)\"") == true },
            "\(json.output)")
        let inherited = try await Tool.run(["list"], environment: ["PAGECACHE_STORE": path])
        #expect(inherited.errors.contains("'pagecache sync URL'"), "\(inherited.errors)")
        try await folder.writeListWithGap()
        let why = try await Tool.run(["why", "list", "--json", "--store", folder.store])
        #expect(why.output.contains("--store \(folder.store)'"), "\(why.output)")
    }
}
#endif
