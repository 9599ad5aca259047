import PageModel
import PagedRepository

/// The token that a simulated origin returns for the next page, and its interpretation in a later request.
enum OriginToken: Equatable {
    /// `position:12`
    case position(Int)
    /// `page=3`, counted from 1. With `&size=5` when page one had another size than the usual one.
    case page(Int, size: Int?)
    /// `after:8000.4`
    case behind(SortKey)

    var cursor: PageCursor {
        switch self {
        case .position(let position): PageCursor("position:\(position)")
        case .page(let number, nil): PageCursor("page=\(number)")
        case .page(let number, let size?): PageCursor("page=\(number)&size=\(size)")
        case .behind(let key): PageCursor("after:\(key.text)")
        }
    }

    /// The token in a cursor. Returns nil when an origin of this style cannot have returned the cursor.
    init?(_ cursor: PageCursor, style: OriginPlan.Style) {
        let parts = cursor.text.split(maxSplits: 1, omittingEmptySubsequences: false) { $0 == ":" || $0 == "=" }
        guard parts.count == 2 else { return nil }
        switch (style, parts[0]) {
        case (.cursor, "position"):
            guard let position = Int(parts[1]), position >= 0 else { return nil }
            self = .position(position)
        case (.keyset, "after"):
            guard let key = SortKey(text: parts[1]) else { return nil }
            self = .behind(key)
        case (.link, "page"):
            let numbers = parts[1].replacing("&size=", with: "&").split(separator: "&").map { Int($0) ?? 0 }
            guard (1...2).contains(numbers.count), numbers.allSatisfy({ $0 > 0 }) else { return nil }
            self = .page(numbers[0], size: numbers.count == 2 ? numbers[1] : nil)
        default:
            return nil
        }
    }
}

/// The part of the list that a request addresses.
struct OriginAddress: Equatable {
    /// The index of the first item, which may be beyond the end.
    var start: Int
    /// The number of items in the answer, if the list has that many.
    var size: Int
    /// The token that the origin continues from, if it uses tokens.
    var token: OriginToken?

    /// - Throws: a failure with status 400 for a token that this origin cannot have returned.
    init(_ request: PageRequest, _ plan: OriginPlan, _ list: SimulatedList) throws(FetchFailure) {
        let wanted = min(max(request.size ?? plan.usualSize, 1), max(plan.largestPage, 1))
        size = plan.style == .page ? plan.usualSize : wanted
        switch request.target {
        case .first:
            start = 0
            if plan.style == .link { token = .page(1, size: size == plan.usualSize ? nil : size) }
        case .offset(let offset):
            precondition(offset >= 0, "a list has no position \(offset)")
            precondition(
                plan.access != .chain, "an origin of \(plan.style.rawValue) style accepts no offset")
            precondition(
                plan.style != .page || offset.isMultiple(of: plan.usualSize),
                "\(offset) is not on the origin's grid of \(plan.usualSize)")
            start = offset
        case .cursor(let cursor):
            guard let token = OriginToken(cursor, style: plan.style) else {
                throw .status(400, message: "the origin never handed over this cursor")
            }
            self.token = token
            switch token {
            case .position(let position):
                start = position
            case .page(let number, let linkedSize):
                // A link contains its whole request, so a size in the new request has no effect.
                size = linkedSize ?? plan.usualSize
                start = (number - 1) * size
            case .behind(let key):
                start = list.index(behind: key)
            }
        }
    }

    /// Returns the cursor for the page after the items in `given`. Returns nil when the answer has no next cursor.
    /// - Parameter length: the number of items of the list that can be fetched.
    func next(behind given: Range<Int>, _ plan: OriginPlan, _ list: SimulatedList, length: Int) -> PageCursor? {
        guard given.upperBound < length || plan.goesOn(behind: given) else { return nil }
        let overlap = given.count > plan.behaviour.overlap ? plan.behaviour.overlap : 0
        switch plan.style {
        case .offset, .page:
            return nil
        case .cursor:
            return OriginToken.position(given.upperBound - overlap).cursor
        case .keyset:
            guard !given.isEmpty else { return token?.cursor }
            return OriginToken.behind(list.entries[given.upperBound - 1 - overlap].key).cursor
        case .link:
            guard case .page(let number, let size) = token else { return nil }
            // The empty page after the last item returns its own cursor.
            guard !given.isEmpty || given.upperBound < length else { return token?.cursor }
            return OriginToken.page(number + 1, size: size).cursor
        }
    }
}
