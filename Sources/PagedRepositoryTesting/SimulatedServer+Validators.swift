import PageModel
import PagedRepository

/// The validators of a simulated origin's answers (R1, R16).
extension SimulatedServer {
    /// Returns the validator of this answer to this exact request (R1). Returns nil if the origin has no validators.
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

    /// Whether the request carries the validator of this answer.
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

    /// Returns the text of the request in a validator.
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
