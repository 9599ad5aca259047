/// The meaning of an answer to a request by position, if other pages hold some of its items (R21, R25).
enum Collision: Equatable {
    /// The origin returns the same items for every position (R24).
    case ignoredPosition
    /// The list has moved between this answer and the one that was stored.
    case moved
    /// The origin leaves items out of its pages, so the pages are requested one after the other from now on (R53).
    case walkByPosition
    /// The items are stored where they arrived, and the positions at which they are held are requested again. If the
    /// same items arrive there again, the list has them at both positions.
    case secondLook
    /// The list repeats ids.
    case repeatedIDs
}

extension ListBelief {
    /// Decides what an answer means if other pages hold some of its items. A collision that is new shows a move of the
    /// list. So does, in most cases, an answer whose items are all held by other pages.
    /// - Parameters:
    ///   - arrivals: how often the items of the answer arrived at this position, including this answer.
    ///   - isKnownWhole: whether other pages hold all items of the answer.
    ///   - isAlike: whether the held items have the same content.
    ///   - shifts: the number of positions by which each displaced item arrived after its held position. Negative if it
    ///     arrived before.
    ///   - source: the way in which pages can be requested from the origin.
    mutating func collide(
        _ arrivals: RepeatBelief.Arrivals, isKnownWhole: Bool, isAlike: Bool, shifts: [Int], _ source: PagingAccess
    ) -> Collision {
        // Items with the ids of held ones and other content, the same in each answer, are other items (R25).
        let areOthers = !isAlike && arrivals.alike > 1
        if isKnownWhole, isAlike || arrivals.count > arrivals.alike {
            repeats.observe(hasNewItems: false)
            // Some origins return their last page for each later position. The items belong to the first of these
            // positions.
            let isFirst = !shifts.isEmpty && shifts.allSatisfy { $0 < 0 }
            if repeats.provesPositionsIgnored { return isFirst ? .secondLook : .ignoredPosition }
        }
        let mayBeShifted = isAlike || arrivals.count > 1 && !areOthers
        // A page whose items are all stored elsewhere removes no item from its position (G6). A page that repeats some
        // items must arrive twice (R25).
        let times = areOthers ? arrivals.alike : arrivals.count
        let isMove = isKnownWhole && !areOthers || times < 2
        // Hidden items move all items after them to later positions of the origin (R53).
        if isMove || times > 3, mayBeShifted, isShiftedAgain(shifts, source) { return .walkByPosition }
        if isMove { return .moved }
        return times > 3 ? .repeatedIDs : .secondLook
    }
}
