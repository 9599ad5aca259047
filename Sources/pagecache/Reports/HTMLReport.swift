#if Tool
import PageModel
import PageStore

/// The statistics of a store as one HTML page. Pure. The page uses no network and no scripts, and its content security
/// policy forbids both. Data from an origin appears as text, never as markup (R46).
struct HTMLReport {
    let statistics: StoreStatistics
    /// The path of the store, or the name of a store on a server.
    let store: String
    var policy = FreshnessPolicy()
    let now: Timestamp

    /// The largest number of lists, and of failures, that are shown one by one. The others are only counted, so that
    /// the page stays readable.
    static let drawn = 200

    var text: String {
        """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>pagecache: \(HTML.text(store))</title>
        <style>\(HTMLStyle.text)</style>
        </head>
        <body>
        <header>
        <h1>\(HTML.text(store))</h1>
        <p>as of \(TimeText.rfc3339(now))</p>
        </header>
        <main>
        \(tiles)
        \(sizes)
        \(spared)
        \(failures)
        \(lists)
        </main>
        </body>
        </html>

        """
    }

    // MARK: In all

    private var tiles: String {
        let tally = statistics.tally
        let failing = queries.reduce(0) { $0 + $1.summary.outline.failures.count }
        let numbers = [
            ("queries", SizeText.count(statistics.queries.count)),
            ("items held", SizeText.count(statistics.items)),
            ("pages", SizeText.count(statistics.pages)),
            ("file", SizeText.bytes(statistics.fileBytes + statistics.logBytes)),
            ("failing pages", SizeText.count(failing)),
            ("requests sent", SizeText.count(tally.requests)),
            ("requests saved", SizeText.count(statistics.requestsSaved)),
            ("hit rate", tally.hitRate.map { "\(Int($0 * 100)) %" } ?? "–"),
        ]
        let tiles = numbers.map { "<div class=\"tile\"><b>\($0.1)</b><span>\($0.0)</span></div>" }
        return "<section class=\"tiles\">\(tiles.joined(separator: "\n"))</section>"
    }

    private var sizes: String {
        let other = max(0, statistics.fileBytes - statistics.bytes - statistics.freeBytes)
        let parts = [
            HTMLBar.Part(name: "items", size: statistics.bytes, style: "fresh"),
            HTMLBar.Part(name: "records and indices", size: other, style: "inferred"),
            HTMLBar.Part(name: "free", size: statistics.freeBytes, style: "gap"),
            HTMLBar.Part(name: "log", size: statistics.logBytes, style: "stale"),
        ]
        let largest = queries.sorted { ($1.summary.bytes, $0.name) < ($0.summary.bytes, $1.name) }.prefix(10)
        let most = largest.first?.summary.bytes ?? 0
        let bars = largest.map { query in
            HTMLBar(
                label: query.name, value: SizeText.bytes(query.summary.bytes), whole: most,
                parts: [HTMLBar.Part(name: "items", size: query.summary.bytes, style: "fresh")]
            ).text
        }
        return """
            <section><h2>Sizes</h2>
            \(HTMLBar(label: "in all", value: SizeText.bytes(parts.reduce(0) { $0 + $1.size }), whole: parts.reduce(0) { $0 + $1.size }, parts: parts).text)
            \(HTMLBar.legend(parts.map { ($0.style, "\($0.name) \(SizeText.bytes($0.size))") }))
            \(bars.joined(separator: "\n"))
            </section>
            """
    }

    /// The section about requests: the pages that runs fetched, found unchanged, or kept without a request.
    private var spared: String {
        let counted = queries.filter { $0.tally.runs > 0 }.sorted {
            ($1.tally.pages, $0.name) < ($0.tally.pages, $1.name)
        }
        guard !counted.isEmpty else { return "<section><h2>Requests</h2><p>No run was counted yet.</p></section>" }
        let most = counted.first?.tally.pages ?? 0
        let bars = counted.prefix(10).map { query in
            let tally = query.tally
            return HTMLBar(
                label: query.name,
                value: "\(SizeText.count(tally.requests)) sent, \(SizeText.count(query.requestsSaved)) saved",
                whole: most,
                parts: [
                    HTMLBar.Part(name: "fetched", size: tally.pagesFetched, style: "inferred"),
                    HTMLBar.Part(name: "unchanged", size: tally.pagesUnchanged, style: "stale"),
                    HTMLBar.Part(name: "kept", size: tally.pagesKept, style: "fresh"),
                ]
            ).text
        }
        return """
            <section><h2>Requests</h2>
            <p>Pages that \(SizeText.count(statistics.tally.runs, "run", "runs")) brought up to date, by the work that each page needed.</p>
            \(HTMLBar.legend([("inferred", "fetched"), ("stale", "requested, and unchanged"), ("fresh", "kept without a request")]))
            \(bars.joined(separator: "\n"))
            </section>
            """
    }

    // MARK: Failures

    private var failures: String {
        let all = queries.flatMap { query in query.summary.outline.failures.map { (query.name, $0) } }
            .sorted {
                ($0.1.nextAttemptAt?.milliseconds ?? .max, $0.0, $0.1.offset) < (
                    $1.1.nextAttemptAt?.milliseconds ?? .max, $1.0, $1.1.offset
                )
            }
        guard !all.isEmpty else { return "<section><h2>Failures</h2><p>No page fails.</p></section>" }
        let rows = all.prefix(HTMLReport.drawn).map { name, entry in
            let next =
                entry.nextAttemptAt.map { $0 > now ? "in \(TimeText.until($0 - now))" : "due" } ?? "not scheduled"
            return """
                <tr><td class="text">\(HTML.text(name))</td><td class="number">\(SizeText.count(entry.offset))</td>\
                <td class="number">\(entry.attempts)</td><td class="text">\(HTML.text(entry.failure?.shownMessage ?? ""))</td><td>\(next)</td></tr>
                """
        }
        let rest = all.count > HTMLReport.drawn ? "<p>and \(SizeText.count(all.count - HTMLReport.drawn)) more</p>" : ""
        return """
            <section><h2>Failures</h2>
            <div class="wide"><table><thead><tr><th>list</th><th class="number">position</th><th class="number">attempts</th><th>last error</th><th>next attempt</th></tr></thead>
            <tbody>
            \(rows.joined(separator: "\n"))
            </tbody></table></div>\(rest)
            </section>
            """
    }

    // MARK: List by list

    private var lists: String {
        // Lists with failures come first.
        let order = queries.sorted {
            ($0.summary.outline.failures.isEmpty ? 1 : 0, $1.summary.bytes, $0.name) < (
                $1.summary.outline.failures.isEmpty ? 1 : 0, $0.summary.bytes, $1.name
            )
        }
        let cards = order.prefix(HTMLReport.drawn).map { HTMLCard(query: $0, policy: policy, now: now).text }
        let rest =
            order.count > HTMLReport.drawn
            ? "<p>and \(SizeText.count(order.count - HTMLReport.drawn)) more lists</p>" : ""
        let states = CoverageMap.State.allCases.reversed().map { ($0.rawValue, $0.rawValue) }
        return """
            <section><h2>Lists</h2>
            \(HTMLBar.legend(states))
            \(cards.joined(separator: "\n"))
            \(rest)
            </section>
            """
    }

    private var queries: [StoreStatistics.Query] { statistics.queries }
}

extension StoreStatistics.Query {
    /// The key of the query, after its scope if it has one.
    var name: String {
        let key = summary.outline.record.key
        return key.scope.isEmpty ? key.text : "\(key.scope): \(key.text)"
    }
}
#endif
