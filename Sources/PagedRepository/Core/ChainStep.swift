import PageModel

/// The meaning of the answer to a request by cursor, and the consequence for the run (R22, R24, R25).
enum ChainStep: Equatable {
    /// The page is stored, and the walk continues after it.
    case store(ChainPage)
    /// The page of a list with repeated ids is stored as it arrived.
    case storeUnaligned(UnalignedChainPage)
    /// The answer has no new item, or is requested again. The next request has this cursor and the same position.
    case follow(PageCursor)
    /// The chain ends.
    case end(ChainEnd)
    /// The answer has no new item, and the chain ends or starts over. The list ends after the held items at this
    /// position, because they have arrived again.
    case endBehindKnown
    /// The walk has reached the end, but items arrived again at places where no insert can have moved them.
    case endInDisorder(ChainEnd)
    /// The page is stored, and names itself as the next page. So the end of the list is not proven.
    case loopOnItself(ChainEnd)
    /// The origin repeats itself. The message says how.
    case loop(String)
    /// The end is not believed yet. Page one is requested, and then this position again (R20).
    case confirmEnd(at: Int)
    /// The list repeats ids. It is walked again, and its pages are stored as they arrive.
    case repeatIDs
    /// The list is walked again from page one to the end, through held items.
    case walkAgain
    /// The pass begins again with page one.
    case restart
}

/// A page of a chain, and its place in the list.
struct ChainPage: Equatable {
    var merge: CursorMerge
    /// The positions of its items.
    var range: Range<Int>
    /// The edits that store it.
    var edits: [ListEdit]
    var next: PageCursor
    /// Whether at least nine in ten items were received before in this walk. Such a page counts as one without new
    /// items.
    var isRepetition: Bool
}

/// A page of a list with repeated ids.
struct UnalignedChainPage: Equatable {
    var range: Range<Int>
    var edits: [ListEdit]
    var next: PageCursor?
    /// Whether the list holds exactly this page (R6).
    var isSame: Bool
    /// Whether the list holds items at these positions.
    var isStored: Bool
}

/// The end of a chain.
struct ChainEnd: Equatable {
    /// The position after the last item.
    var position: Int
    /// The position of the last request.
    var offset: Int
    /// The edits that store the last page. Empty if the last answer had no items.
    var edits: [ListEdit] = []
    /// Whether the last page differs from the held one.
    var isChanged = true

    var isWithPage: Bool { !edits.isEmpty }
}
