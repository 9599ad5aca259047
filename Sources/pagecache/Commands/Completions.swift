#if Tool
import ArgumentParser

/// `pagecache completions`: a shell script that completes commands, options and queries.
struct Completions: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "completions",
        abstract: "Print the completion script of a shell.",
        discussion: """
            A script completes commands, options, queries in the store, and the variables
            for --bearer-env. 'make install' installs the scripts.

            EXAMPLES
              d=~/.local/share/bash-completion/completions
              pagecache completions bash > $d/pagecache
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
            case .bash: CompletionScript.bash(Pagecache.completionScript(for: .bash))
            case .zsh: CompletionScript.zsh(Pagecache.completionScript(for: .zsh))
            case .fish: CompletionScript.fish(Pagecache.completionScript(for: .fish))
            }
        Terminal.standard.write(text: script.hasSuffix("\n") ? script : script + "\n")
    }
}
#endif
