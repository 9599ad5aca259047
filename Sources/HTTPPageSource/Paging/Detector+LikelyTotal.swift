import PageModel

// Totals that equal the length of page one, and probably count the list.
extension Detector {
    /// The smallest page size that many origins use by default.
    private static let leastPage = 10

    /// Whether a total equals the length of the page, the answer neither denies a next page nor counts remaining items,
    /// and no stated page size is larger than the page. A few probes then show whether the total counts the page.
    func isLikely(_ number: Int, _ draft: DetectionDraft) -> Bool {
        let count = draft.evidence.count
        guard number == count, count > 1, !draft.evidence.deniesNext, draft.evidence.remaining == nil else {
            return false
        }
        return !members.contains {
            Detector.sizeNames.contains($0.plainName) && document.integer($0.value) ?? 0 > count
        }
    }

    /// Whether page one has fewer items than most pages, or than the URL requests. Such a page is seldom full.
    func isSmall(_ draft: DetectionDraft) -> Bool {
        let asked = ParameterNames.size(in: answer.url).flatMap { answer.url.value(of: $0) }.flatMap { Int($0) }
        return draft.evidence.count < Detector.leastPage || asked ?? 0 > draft.evidence.count
    }
}
