#if Tool
import ArgumentParser

/// `pagecache completions`: a shell script that completes commands, options and queries.
struct Completions: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "completions",
        abstract: "Print a completion script for a shell.",
        discussion: """
            Completes commands, options, and the ids of queries in the store.

            EXAMPLES
              pagecache completions bash > ~/.local/share/bash-completion/completions/pagecache
              pagecache completions zsh > ~/.zsh/completions/_pagecache
              pagecache completions fish > ~/.config/fish/completions/pagecache.fish
            """)

    enum Shell: String, CaseIterable, ExpressibleByArgument {
        case bash, zsh, fish
    }

    @Argument(help: "bash, zsh or fish.")
    var shell: Shell

    func run() {
        let script: String =
            switch shell {
            case .bash: Pagecache.completionScript(for: .bash)
            case .zsh: Pagecache.completionScript(for: .zsh)
            case .fish: Pagecache.completionScript(for: .fish)
            }
        Terminal.standard.write(text: script.hasSuffix("\n") ? script : script + "\n")
    }
}
#endif
