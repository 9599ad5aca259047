import PageModel
import PagedRepository

/// What a simulated origin gives to recognise its answers by (R1, R16).
extension SimulatedServer {
    /// R1: what the origin recognises this very answer to this very request by.
    func validator(of page: FetchedPage, _ request: PageRequest) -> Validator? {
        let coversTotal = plan.validators == .pagesAndTotal
        guard plan.validators != .none else { return nil }
        let parts = [
            "\(page.content.fingerprint)", page.next?.text ?? "", page.hasMore.map { "\($0)" } ?? "",
            coversTotal ? "\(page.total)" : "",
        ]
        let tag = String(XXH64.hash(parts.joined(separator: "|")), radix: 16)
        return Validator(
            request: Self.text(of: request), entityTag: "\"\(tag)\"", lastModified: nil, coversTotal: coversTotal)
    }

    /// Whether the request carries the validator of just this answer.
    mutating func isNotModified(_ request: PageRequest, _ now: Validator) -> Bool {
        guard let sent = request.validator else { return false }
        guard sent.request == now.request else {
            note(.validatorForeign)
            return false
        }
        guard sent.entityTag == now.entityTag else {
            note(.validatorOutdated)
            return false
        }
        return true
    }

    /// The request as a validator names it.
    private static func text(of request: PageRequest) -> String {
        let target =
            switch request.target {
            case .first: "first"
            case .offset(let offset): "offset=\(offset)"
            case .cursor(let cursor): "cursor=\(cursor.text)"
            }
        return request.size.map { "\(target)?size=\($0)" } ?? target
    }
}
