#if Tool
import ArgumentParser

/// `pagecache man`: the manual page, for packaging. `Documentation/pagecache.1` is its checked-in output.
struct Manual: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "man",
        abstract: "Print the manual page.",
        discussion: """
            EXAMPLES
              pagecache man > pagecache.1 && man ./pagecache.1
            """,
        shouldDisplay: false)

    func run() throws {
        Terminal.standard.write(text: ManualPage(tool: try CommandDescription.tool(), version: toolVersion).text)
    }
}
#endif
