import PageModel

/// The meaning of the answer to a request by cursor, and the consequence for the run (R22, R24, R25).
enum ChainStep: Equatable {
    /// The page is stored, and the walk continues behind it.
    case store(ChainPage)
    /// The page of a list with repeated ids is stored as it arrived.
    case storeUnaligned(UnalignedChainPage)
    /// The answer has no new item. The next request has the same position.
    case follow(PageCursor)
    /// The chain ends.
    case end(ChainEnd)
    /// The answer has no new item, and the chain ends or starts over. The held items from this position on have arrived
    /// again, so the end is after them.
    case endBehindKnown
    /// The walk has come to the end, but items arrived again that no insert can have moved there.
    case endInDisorder(ChainEnd)
    /// The page is stored. It names itself as the next page, so the list has no end.
    case loopOnItself(ChainEnd)
    /// The origin repeats itself.
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
    /// Whether nine in ten items were received before in this walk. Such a page counts as one without new items.
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
    /// The position behind the last item.
    var position: Int
    /// The position of the last request.
    var offset: Int
    /// The edits that store the last page. Empty if the last answer had no items.
    var edits: [ListEdit] = []
    /// Whether the last page differs from the held one.
    var isChanged = true

    var isWithPage: Bool { !edits.isEmpty }
}
