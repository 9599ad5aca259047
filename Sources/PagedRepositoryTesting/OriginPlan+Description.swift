import PageModel

/// A description for failure reports: one line for the origin, and one for each event.
extension OriginPlan: CustomStringConvertible {
    public var description: String {
        var traits = ["\(style.rawValue) style", "\(count) items by \(pageSize)"]
        if largestPage < OriginPlan.noLargestPage { traits[1] += " (at most \(largestPage))" }
        traits.append("totals \(totals)")
        if validators != .none { traits.append("validators \(validators.rawValue)") }
        if identity != .ids { traits.append("ids \(identity.rawValue)") }
        if pastEnd != .emptyPage { traits.append("past the end \(pastEnd.rawValue)") }
        if saysHasMore { traits.append("says hasMore") }
        traits += behaviour.parts
        let name = kind == .ordinary ? "" : ", \(kind.rawValue)"
        return (["seed \(seed)\(name): " + traits.joined(separator: ", ")] + events.map { "  \($0)" }).joined(
            separator: "\n")
    }
}

extension OriginPlan.Totals: CustomStringConvertible {
    public var description: String {
        switch self {
        case .exact: "exact"
        case .lagging(let requests): "lagging \(requests)"
        case .capped(let most): "capped at \(most)"
        case .estimated(let error): "estimated ±\(error)"
        case .none: "none"
        case .zero: "zero"
        case .tooLow(let less): "\(less) too low"
        case .tooHigh(let more): "\(more) too high"
        case .jittering(let most): "jittering by \(most)"
        }
    }
}

extension OriginEvent: CustomStringConvertible {
    public var description: String {
        switch kind {
        case .change(let change): "before \(request): \(change)"
        case .fault(let fault): "on \(request): \(fault)"
        }
    }
}

extension OriginChange: CustomStringConvertible {
    public var description: String {
        switch self {
        case .insert(let place, let count): "insert \(count) at \(place)"
        case .delete(let place, let count): "delete \(count) at \(place)"
        case .move(let from, let to): "move \(from) to \(to)"
        case .edit(let place): "edit at \(place)"
        case .resort(let seed): "resort by \(seed)"
        case .replaceAll(let count): "replace all by \(count)"
        case .append(let count): "append \(count)"
        case .hide(let place, let count): "hide \(count) at \(place)"
        }
    }
}

extension OriginFault: CustomStringConvertible {
    public var description: String {
        switch self {
        case .transport: "transport failure"
        case .timeout: "timeout"
        case .tooManyRequests(let pause): "429, retry after \(pause.wholeMilliseconds) ms"
        case .internalError: "500"
        case .unavailable: "503"
        case .emptyAnswer: "empty answer"
        case .emptyAnswers(let duration): "empty answers for \(duration)"
        case .shortPage: "short page"
        case .repeatedFirstItem: "an item twice"
        case .cursorExpired(let status): "cursor expired, \(status)"
        }
    }
}

extension OriginPlace: CustomStringConvertible {
    /// The fraction as it can be written in source code: 32768/65536 is the middle.
    public var description: String { "\(fraction)/65536" }
}
