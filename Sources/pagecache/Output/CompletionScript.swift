#if Tool
import ArgumentParser

/// Additions to the completion scripts of the argument parser, which knows neither aliases nor the words after `help`.
enum CompletionScript {
    /// The visible commands, without aliases.
    private static var commands: [String] {
        Pagecache.configuration.subcommands.filter { $0.configuration.shouldDisplay }.compactMap {
            $0.configuration.commandName
        }
    }

    /// The aliases, each with its command.
    private static var aliases: [(alias: String, command: String)] {
        Pagecache.configuration.subcommands.flatMap { command in
            command.configuration.aliases.map { ($0, command.configuration.commandName ?? "") }
        }
    }

    /// The words after `help`.
    private static var helpWords: String { (commands + Help.topicNames).joined(separator: " ") }

    static func bash(_ script: String) -> String {
        let functions = aliases.map { "_pagecache_\($0.alias)() { _pagecache_\($0.command); }" }
        let help = "_pagecache_help() { COMPREPLY=($(compgen -W '\(helpWords)' -- \"${cur}\")); }"
        return insert(functions + [help, words], before: "complete ", into: withAliases(script))
            .replacing("-F _pagecache pagecache", with: "-F _pagecache_words pagecache")
    }

    /// Bash splits words at colons and equals signs, which URLs contain. This function joins them again before the
    /// completion, and then removes the part that is already on the line from each completion.
    private static let words = #"""

        _pagecache_words() {
            local cur="${2}" prev="${3}" word head=''
            local -a words=()
            if [[ "${COMP_WORDS[*]:1:COMP_CWORD}" == *[:=]* ]]; then
                read -ra words <<<"${COMP_LINE:0:COMP_POINT}"
                [[ "${COMP_LINE:0:COMP_POINT}" == *[[:space:]] ]] && words+=('')
                COMP_WORDS=("${words[@]}")
                COMP_CWORD=$((${#words[@]} - 1))
                cur="${words[COMP_CWORD]}"
                prev="${words[COMP_CWORD - 1]}"
                if [[ "${cur}" == [\"\']* ]]; then
                    cur="${cur:1}"
                else
                    # An escaped character breaks no word.
                    word="${cur//\\[:=]/xx}"
                    [[ "${COMP_WORDBREAKS}" == *:* ]] || word="${word//:/x}"
                    [[ "${COMP_WORDBREAKS}" == *=* ]] || word="${word//=/x}"
                    head="${word##*[:=]}"
                    head="${cur:0:${#cur}-${#head}}"
                    [[ "${word}" == *[:=]* ]] || head=''
                    head="${head//\\/}"
                    cur="${cur//\\/}"
                fi
            fi
            _pagecache "${1}" "${cur}" "${prev}"
            local -i index
            for index in "${!COMPREPLY[@]}"; do COMPREPLY[index]="${COMPREPLY[index]#"${head}"}"; done
        }
        """#

    static func zsh(_ script: String) -> String {
        let functions = aliases.map { "_pagecache_\($0.alias)() { _pagecache_\($0.command) }" }
        let help = "_pagecache_help() { compadd \(helpWords) }"
        return insert(functions + [help], before: "if [[ \"${funcstack", into: withAliases(script))
    }

    static func fish(_ script: String) -> String {
        let words = helpWords
        let help = "complete -c pagecache -n 'test (commandline -poc)[-1] = help' -fa '\(words)'"
        let copies = aliases.flatMap { name in
            script.split(separator: "\n").map(String.init).filter {
                $0.hasPrefix("complete") && $0.contains("\"pagecache \(name.command)\"")
            }
            .map { $0.replacing("\"pagecache \(name.command)\"", with: "\"pagecache \(name.alias)\"") }
        }
        let cases = aliases.map { name in (name, "case '\(name.command)' '\(name.alias)'") }
        let extended = cases.reduce(script) { $0.replacing("case '\($1.0.command)'\n", with: "\($1.1)\n") }
        return extended + (extended.hasSuffix("\n") ? "" : "\n") + (copies + [help]).joined(separator: "\n") + "\n"
    }

    /// Adds the aliases to the list of commands with functions of their own.
    private static func withAliases(_ script: String) -> String {
        let names = aliases.map { "|\($0.alias)" }.joined()
        return script.replacing(/(?m)^( *)([a-z|-]+\|help)\)$/) { "\($0.output.1)\($0.output.2)\(names))" }
    }

    /// Inserts lines before the statement that registers or calls the completion.
    private static func insert(_ lines: [String], before statement: String, into script: String) -> String {
        var all = script.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        all.insert(contentsOf: lines + [""], at: all.lastIndex { $0.hasPrefix(statement) } ?? all.endIndex)
        return all.joined(separator: "\n")
    }
}
#endif
