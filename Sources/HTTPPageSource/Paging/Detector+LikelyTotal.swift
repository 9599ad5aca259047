import PageModel

// Totals that equal the length of page one, and mostly count the list.
extension Detector {
    /// The smallest size of a page that origins use by themselves.
    private static let leastPage = 10

    /// Whether a total under one of the plainest names equals the length of the page, and nothing else shows that the page
    /// is short. The total is in a header, or the page has no usual size. A few probes show whether it counts the page.
    func isLikely(_ number: Int, at place: HTTPSourceConfiguration.Place, _ draft: DetectionDraft) -> Bool {
        let count = draft.evidence.count
        // `Content-Range: items 0-36/37` counts the page and the list.
        guard number == count, count >= Detector.leastPage, !draft.evidence.deniesNext,
            place != .header("Content-Range")
        else { return false }
        let asked = ParameterNames.size(in: answer.url).flatMap { answer.url.value(of: $0) }.flatMap { Int($0) }
        let stated = members.filter { Detector.sizeNames.contains($0.plainName) }.compactMap {
            document.integer($0.value)
        }
        return !([asked].compactMap(\.self) + stated).contains { $0 > count }
    }
}
