import PageModel

/// A cursor that this package makes for an origin with hidden items. It names the next request by its position (R53).
///
/// Such an origin leaves items out of its pages, so a position at the origin is not the number of items before it. The
/// pages are then requested one after the other, like those of a chain. The cursor is stored with the previous page.
enum PositionCursor: Equatable {
    /// The items from this offset on.
    ///
    /// `repeatsLast`: whether the answer must contain the last received item. The offset was chosen so that it does,
    /// unless the list has moved.
    case offset(Int, repeatsLast: Bool)
    /// The page with this number, counted from 0.
    case page(Int)

    /// The prefix of each such cursor. It begins with a control character, so that no cursor of an origin, such as
    /// `page 3`, is mistaken for one.
    private static let prefix = "\u{1}pagecache "

    /// Returns nil if `cursor` is nil, or is not such a cursor.
    init?(_ cursor: PageCursor?) {
        guard let text = cursor?.text, text.hasPrefix(PositionCursor.prefix) else { return nil }
        let parts = text.dropFirst(PositionCursor.prefix.count).split(separator: " ")
        guard parts.count >= 2, let number = Int(parts[1]), number >= 0 else { return nil }
        switch (parts[0], parts.dropFirst(2)) {
        case ("position", []): self = .offset(number, repeatsLast: false)
        case ("position", ["again"]): self = .offset(number, repeatsLast: true)
        case ("page", []): self = .page(number)
        default: return nil
        }
    }

    var cursor: PageCursor {
        switch self {
        case .offset(let offset, let repeatsLast):
            PageCursor("\(PositionCursor.prefix)position \(offset)\(repeatsLast ? " again" : "")")
        case .page(let number): PageCursor("\(PositionCursor.prefix)page \(number)")
        }
    }

    /// The cursor of page one.
    static func first(_ access: PagingAccess) -> PositionCursor {
        if case .grid = access { .page(0) } else { .offset(0, repeatsLast: false) }
    }

    /// Returns the offset to request. Returns nil when the origin no longer accepts requests of this kind.
    func offset(_ access: PagingAccess) -> Int? {
        switch (self, access) {
        case (.offset(let offset, _), .offsets): offset
        case (.page(let number), .grid(let size)):
            number.multipliedReportingOverflow(by: size).overflow ? nil : number * size
        default: nil
        }
    }

    /// Returns the number of items at the head of an answer that are the last received ones, in their order.
    ///
    /// By page number, no item is requested again, so this returns 0.
    /// - Parameters:
    ///   - keys: the keys of the answer's items.
    ///   - held: the keys of the items received before it.
    func repeats(_ keys: [UInt64], behind held: [UInt64]) -> Int {
        guard case .offset = self else { return 0 }
        return (0...min(keys.count, held.count)).last { keys.prefix($0) == held.suffix($0) } ?? 0
    }

    /// Returns the request that follows an answer to this one.
    ///
    /// An answer covers at least as many positions as it has items, so a step of that length skips no item. The step is
    /// one position shorter, so that the last item arrives again and shows that the list has not moved (R21).
    /// - Parameters:
    ///   - received: the number of items in the answer.
    ///   - new: the number of its items that had not been received before.
    ///   - span: the largest number of items that an answer had. An answer without items covers that many positions.
    func next(received: Int, new: Int, span: Int) -> PositionCursor {
        switch self {
        case .page(let number):
            return .page(number + 1)
        case .offset(let offset, _):
            if received == 0 { return .offset(offset + max(span, 1), repeatsLast: false) }
            return received == 1 || new == 0
                ? .offset(offset + received, repeatsLast: false) : .offset(offset + received - 1, repeatsLast: true)
        }
    }
}
