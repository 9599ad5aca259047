#if Tool
import PageModel
import PageStore

/// Escaping and lengths for HTML.
enum HTML {
    /// Escapes text for elements and quoted attributes, and makes control characters visible (R46).
    static func text(_ text: String) -> String {
        var result = ""
        for character in Printable.text(text).unicodeScalars {
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }

    /// A share as a CSS length in per cent, whatever the locale.
    static func share(_ part: Int, of whole: Int) -> String {
        guard whole > 0 else { return "0%" }
        return "\((Double(max(0, part)) / Double(whole) * 10_000).rounded() / 100)%"
    }
}

/// A horizontal bar of parts, with a label and a value.
struct HTMLBar {
    struct Part {
        var name: String
        var size: Int
        /// The CSS class for the colour of the part.
        var style: String
    }

    let label: String
    let value: String
    /// The value of a bar with full width.
    let whole: Int
    let parts: [Part]

    var text: String {
        let drawn = parts.filter { $0.size > 0 }.map {
            "<i class=\"\($0.style)\" style=\"width:\(HTML.share($0.size, of: whole))\" title=\"\(HTML.text($0.name))\"></i>"
        }
        return """
            <div class="bar"><span class="label">\(HTML.text(label))</span><span class="track">\(drawn.joined())</span>\
            <span class="value">\(HTML.text(value))</span></div>
            """
    }

    static func legend(_ entries: [(style: String, name: String)]) -> String {
        let drawn = entries.map { "<span><i class=\"\($0.style)\"></i>\(HTML.text($0.name))</span>" }
        return "<p class=\"legend\">\(drawn.joined(separator: " "))</p>"
    }
}

/// One list: its age, its completeness, and its map.
struct HTMLCard {
    let query: StoreStatistics.Query
    let policy: FreshnessPolicy
    let now: Timestamp

    /// The largest number of cells of a map. More would be finer than a screen can show.
    private static let cells = 500

    var text: String {
        let list = query.summary.outline
        let record = list.record
        let freshness = list.freshness(policy, now: now).map(\.rawValue) ?? "never fetched"
        let age = record.validatedAt.map { ", validated \(TimeText.age(now - $0)) ago" } ?? ""
        let doubt = record.invalidatedAt.map { ", invalidated \(TimeText.age(now - $0)) ago" } ?? ""
        let held = list.coverage.count
        let items = record.total.count.map {
            "\(SizeText.count(held)) of \(SizeText.count($0, "item", "items"))"
        }
        let facts = [
            "\(freshness)\(age)\(doubt)", items ?? SizeText.count(held, "item", "items"),
            SizeText.count(list.pages.count, "page", "pages"), SizeText.bytes(query.summary.bytes),
            list.failures.isEmpty ? nil : SizeText.count(list.failures.count, "failing page", "failing pages"),
            record.isPinned ? "pinned" : nil,
            record.paging.isEmpty ? nil : record.paging,
        ].compactMap { $0 }
        return """
            <article>
            <h3>\(HTML.text(query.name)) <code>\(record.key.shortID)</code></h3>
            <p>\(HTML.text(facts.joined(separator: " · ")))</p>
            \(map(of: list))
            </article>
            """
    }

    private func map(of list: ListOutline) -> String {
        let map = CoverageMap(of: list, policy: policy, now: now)
        guard map.length > 0 else { return "" }
        // Adjacent cells of one state become one rectangle.
        var stretches: [CoverageMap.Interval] = []
        for cell in map.cells(of: CoverageMap.cellSize(for: map.length, atMost: HTMLCard.cells)) {
            if let last = stretches.last, last.state == cell.state {
                stretches[stretches.count - 1].range = last.range.lowerBound..<cell.range.upperBound
            } else {
                stretches.append(cell)
            }
        }
        let rectangles = stretches.map { stretch in
            // The states differ in height as well as in colour.
            let (top, height) = stretch.state.extent
            let (x, width) = (stretch.range.lowerBound, stretch.range.count)
            return """
                <rect class="\(stretch.state.rawValue)" x="\(HTML.share(x, of: map.length))" y="\(top)" \
                width="\(HTML.share(width, of: map.length))" height="\(height)">\
                <title>\(Explanation.positions(stretch.range)): \(stretch.state.rawValue)</title></rect>
                """
        }
        let counts = map.counts.map { "\(SizeText.count($0.count)) \($0.state.rawValue)" }.joined(separator: ", ")
        return "<svg class=\"map\" role=\"img\" aria-label=\"\(HTML.text(counts))\">\(rectangles.joined())</svg>"
    }
}

extension CoverageMap.State {
    /// The top and the height of the state's rectangle in a map of height 28.
    fileprivate var extent: (top: Int, height: Int) {
        switch self {
        case .failing: (0, 28)
        case .fresh: (4, 20)
        case .stale: (8, 16)
        case .inferred: (6, 18)
        case .old: (12, 12)
        case .gap: (20, 4)
        }
    }
}

/// The style sheet, for light and dark mode.
enum HTMLStyle {
    static let text = """
        :root{--ground:#fff;--ink:#1b1f24;--faint:#5b6470;--line:#d6dbe1;--fresh:#1a7f4b;--stale:#b07d12;--inferred:#2b6cb0;--failing:#c0392b;--gap:#9aa3ad;--old:#7d5ba6}
        @media (prefers-color-scheme:dark){:root{--ground:#14171a;--ink:#e6e9ec;--faint:#9aa3ad;--line:#30363c;--fresh:#4cc38a;--stale:#e0b13c;--inferred:#6aa9e9;--failing:#f07167;--gap:#59626b;--old:#b794e0}}
        *{box-sizing:border-box}body{margin:0 auto;max-width:72rem;padding:1.5rem;background:var(--ground);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
        h1{font-size:1.3rem;overflow-wrap:anywhere;margin:0}h2{font-size:1.1rem;margin:2rem 0 .5rem}h3{font-size:1rem;margin:0;overflow-wrap:anywhere}p{color:var(--faint);margin:.25rem 0}code{color:var(--faint);font-weight:normal}
        .tiles{display:grid;grid-template-columns:repeat(4,minmax(0,1fr));gap:.5rem;margin-top:1rem}.tile{border:1px solid var(--line);border-radius:6px;padding:.75rem .6rem}.tile b{display:block;font-size:1.4rem;overflow-wrap:anywhere}.tile span{color:var(--faint)}
        .bar{display:grid;grid-template-columns:minmax(6rem,18rem) 1fr 12rem;gap:.75rem;align-items:center;margin:.3rem 0}.label{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}.value{text-align:right;color:var(--faint)}
        .track{display:flex;height:14px;background:var(--line);border-radius:3px;overflow:hidden}.track i{height:100%}
        .legend span{margin-right:1rem;white-space:nowrap}.legend i{display:inline-block;width:.8em;height:.8em;margin-right:.35em}
        i.fresh{background:var(--fresh)}i.stale{background:var(--stale)}i.inferred{background:var(--inferred)}i.failing{background:var(--failing)}i.gap{background:var(--gap)}i.old{background:var(--old)}
        article{border-top:1px solid var(--line);padding:.9rem 0}.map{display:block;width:100%;height:28px;margin-top:.4rem}
        rect.fresh{fill:var(--fresh)}rect.stale{fill:var(--stale)}rect.inferred{fill:var(--inferred)}rect.failing{fill:var(--failing)}rect.gap{fill:var(--gap)}rect.old{fill:var(--old)}
        table{width:100%;border-collapse:collapse}th,td{text-align:left;padding:.3rem .5rem;border-bottom:1px solid var(--line)}th,.number{white-space:nowrap}.number{text-align:right}.text{min-width:9rem;overflow-wrap:anywhere}.wide{overflow-x:auto}
        @media (max-width:50rem){.tiles{grid-template-columns:repeat(2,minmax(0,1fr))}}
        @media (max-width:40rem){.bar{grid-template-columns:minmax(0,1fr) auto;gap:.2rem .75rem;margin:.6rem 0}.track{grid-row:2;grid-column:1/-1}}
        """
}
#endif
