#if Tool
import ArgumentParser
import PageModel
import PageStore
import PagedRepository

/// `pagecache why`: explains the state of a list, or of a position in it.
struct Why: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "why",
        abstract: "Explain the state of a query, and the next step with its time.",
        discussion: """
            Reads the store only, and sends no request.

            EXAMPLES
              pagecache why 4k2m9xqa
              pagecache why 4k2m9xqa --offset 300
              pagecache why 4k2m9xqa --stale-after 10m --json
            """)

    @Argument(help: QueryHelp.one, completion: .queries)
    var query: String
    @Option(help: "Explain this position instead of the whole list.")
    var offset: Int?
    @Option(
        help: ArgumentHelp(
            "The age at which the list is stale. Default: the origin's max-age, at most 1h, else 60s.",
            valueName: "duration"))
    var staleAfter: DurationArgument?
    @OptionGroup var common: CommonOptions

    func validate() throws {
        if let offset, offset < 0 || offset > ListTotal.largest {
            throw ValidationError("--offset must be from 0 to \(ListTotal.largest), and is \(offset)")
        }
    }

    func run() async throws {
        common.apply()
        let list = try await common.withStore(.reading) { store in
            try await store.endingDeadLeases(in: try await QuerySelector.outline(query, in: store))
        }
        let policy = FreshnessPolicy(operatorSays: staleAfter)
        let now = list.readAt
        render(
            offset.map { Explanation(of: list, at: $0, policy: policy, now: now) }
                ?? Explanation(of: list, policy: policy, now: now))
    }

    private func render(_ explanation: Explanation) {
        let terminal = Terminal.standard
        let key = explanation.list.record.key
        let columns: [ResultTable.Column] = [.init(name: "topic"), .init(name: "text")]
        let rows = explanation.sentences.map {
            [ResultTable.Cell(.string($0.topic.rawValue)), ResultTable.Cell(.string(terminal.hinted($0.text)))]
        }
        switch common.outputFormat {
        case .table:
            let url = ListRunner.url(of: explanation.list.record).flatMap { $0 == key.text ? nil : "  \($0)" } ?? ""
            let paging = explanation.list.record.paging
            terminal.print(
                sentence:
                    "\(key.shortID)  \(key.text)\(key.scope.isEmpty ? "" : "  (\(key.scope))")\(url)\(paging.isEmpty ? "" : "  (\(paging))")",
                breakingWords: true)
            for sentence in explanation.sentences {
                terminal.print(sentence: sentence.text, state: sentence.state, breakingWords: true)
            }
        case .json:
            let sentences = explanation.sentences.map {
                JSONOutput.object([("topic", .string($0.topic.rawValue)), ("text", .string(terminal.hinted($0.text)))])
            }
            terminal.print(
                JSONOutput.object([
                    ("query", .string(key.shortID)), ("key", .string(key.text)), ("scope", .string(key.scope)),
                    ("url", .optional(ListRunner.url(of: explanation.list.record))),
                    ("offset", .optional(offset)), ("sentences", .array(sentences)),
                ]).text)
        case .ndjson, .csv:
            ResultTable(columns: columns, rows: rows).render(common.outputFormat, to: terminal)
        }
    }
}
#endif
