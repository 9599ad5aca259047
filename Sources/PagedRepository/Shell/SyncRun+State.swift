import PageModel

extension SyncRun {
    /// What holds from one asking of page one to the next.
    struct Pass {
        /// The list moved while it was read: what was planned is void, and page one is asked again.
        var mustRestart = false
        /// The list was read anew: what it held before comes again.
        var hasReplaced = false
        /// Items behind page one that are new.
        var newItems = 0
        /// Positions that were asked for, and brought nothing that was not held.
        var fruitless: Set<Int> = []
        /// Where an origin that counts more was found, twice, to have nothing; what lies behind is not asked for (R44).
        var emptyFrom: Int?
        /// Positions that the origin refused to return, for good.
        var refused: Set<Int> = []
        /// Positions that answered once with less than is held, or is counted.
        var doubtful: Set<Int> = []
        /// What was said at a place of where the list ends, and is not believed before page one has shown that the
        /// origin is in its senses, and the place has said it again (R20).
        var witnessed: Set<Claim> = []
        struct Claim: Hashable {
            var place: Int
            var end: Int
        }
        /// What is asked once more when page one has shown that the origin is in its senses (R20).
        var awaitsWitness: FetchTarget?
        /// A list is walked again once at most.
        var hasRewalked = false
        /// How far the walk has come without a break: others may take pages out of its way (R30).
        var walkedTo = 0
        /// How far a walk has come without a break from page one, as it was answered in this pass, by what each answer
        /// handed over.
        var unbrokenTo: Int?
        /// The origin counted differently from one answer to the next, or what had been walked past came again.
        var hasChanged = false
        /// How many items the walk has received since page one.
        var received = 0
        /// Items that the walk met again, behind their first place.
        var repeats: Set<Repeat> = []
        /// Items came again in this walk that no insert can have pushed there: its pages are not cut from one list.
        var isDisordered = false
        /// Answers in a row without items, each under a new cursor.
        var emptyAnswers = 0
        /// How often the end of a chain was asked for again.
        var reopenings = 0
        /// Nobody says whether the list has grown (R24): what lies at its end is asked for again. Until that is
        /// answered the list ends where it did: nothing is taken away, and no end is announced twice (R14, R38).
        var rechecksEnd = false
    }

    /// An item that one walk met at two places.
    struct Repeat: Hashable {
        var key: UInt64
        /// How many items the walk had received before it met the item again.
        var received: Int
    }

    /// An item that was received at one position while it is stored at another.
    struct Collision: Hashable {
        var key: UInt64
        var places: Set<Int>
    }

    /// A walk from page one to the end of a chain, in which no answer contradicted another.
    struct WholeWalk: Equatable {
        /// Where the chain ended.
        var end: Int
        /// What page one counted.
        var total: Int?
    }

    /// A total that counts more items than the origin returned. It is believed to be wrong once page one, asked again
    /// behind that, still counts as many.
    struct Overcount: Equatable {
        var reached: Int
        var total: Int
    }

    /// An answer that showed that the list is not as it is held.
    struct Clue {
        var offset: Int
        var page: FetchedPage
        /// Nothing follows it: that was said twice (R20).
        var isEnd: Bool
    }

    /// How a chain is walked through what is held (R22, R23).
    enum TailWalk {
        /// Until the list is as long as the origin counts.
        case untilExplained
        /// To the end.
        case whole
    }

    /// What is known of the moment at which something was asked for.
    struct Asked {
        /// The storage's time.
        var at: Timestamp
        /// What the list was then, where the answer is for a place in it (R4).
        var under: ListVersion?
    }

    /// A sweep under way (R23).
    struct SweepState {
        /// The answers that wait for those before them, by position.
        var answers: [Int: FetchedPage] = [:]
        /// Everything before this position has been swept.
        var position = 0
        var isDone = false
        /// What the list was after this sweep's last commit.
        var version: ListVersion?
        /// Whether it is a walk: its progress is a cursor.
        var isChain = false
        /// Whether this run has swept anything yet.
        var isBegun = false
        /// Whether the progress of this sweep was in the store: if it is not any more, somebody else has finished it.
        var isRecorded = false
        /// Whether the walk of a chain has come to its end.
        var isAtEnd = false
        /// How often the sweep met another list than expected, by position.
        var failures: [Int: Int] = [:]
    }
}
