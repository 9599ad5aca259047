import PageModel

extension SyncRun {
    /// The state from one request of page one to the next.
    struct Pass {
        /// The cursor of a page with items that names itself as the next page (R24).
        var selfLink: PageCursor?
        /// The items that this walk received again at the head of answers.
        var pushes = Pushes()
        /// Whether the list moved during the run. The plan is then void, and page one is requested again.
        var mustRestart = false
        /// Whether this pass began a new generation. Items that arrive again are then no progress.
        var hasReplaced = false
        /// The number of new items in this pass.
        var newItems = 0
        /// The number of pages with new items that a walk has stored behind page one.
        var newPages = 0
        /// Positions that were requested, and whose answers contained only held items.
        var fruitless: Set<Int> = []
        /// Ends of the held items at which another position was requested instead.
        var realigned: Set<Int> = []
        /// The position from which an origin returned no items in two answers, although its total is larger. Positions
        /// from there on are not requested (R44).
        var emptyFrom: Int?
        /// Positions that the origin permanently refused to return.
        var refused: Set<Int> = []
        /// Positions that the total counts, and that were answered with 404. With two of them, no position behind the
        /// first is requested.
        var notFound: Set<Int> = []
        /// Whether positions behind the supposed end were requested to see whether the origin hides items.
        var hasLookedBehind = false
        /// The requests behind a supposed end, by position.
        var looks: [Int: Look] = [:]
        /// A request behind a supposed end.
        struct Look {
            /// The end of the list if the answer is empty. `nil` if the total decides.
            var end: Int?
        }
        /// Positions whose answer once contained fewer items than are held or counted.
        var doubtful: Set<Int> = []
        /// Claims about the end of the list. A claim is believed after page one has arrived unchanged, and the position
        /// has repeated the claim (R20).
        var witnessed: Set<Claim> = []
        struct Claim: Hashable {
            var place: Int
            var end: Int
        }
        /// The fetch to repeat after page one has arrived unchanged (R20).
        var awaitsWitness: FetchTarget?
        /// Whether the list was walked again in this pass. It is walked again at most once.
        var hasRewalked = false
        /// How far the repeated walk has come without a break. Other owners may fetch pages on its way (R30).
        var walkedTo = 0
        /// How far a walk from this pass's page one has come without a break, each time by the cursor of the answer
        /// before.
        var unbrokenTo: Int?
        /// Whether the total differed between two answers, or items before the current position arrived again.
        var hasChanged = false
        /// The number of items that the walk has received, including page one.
        var received = 0
        /// Items that arrived again in the walk, behind their first position.
        var repeats: Set<Repeat> = []
        /// Whether items arrived again in this walk that no insert can have moved there. The pages are then not parts
        /// of one list.
        var isDisordered = false
        /// The number of consecutive answers without items, each under a new cursor.
        var emptyAnswers = 0
        /// How often the end of a chain was requested again.
        var reopenings = 0
        /// Whether the end of the list must be checked, because no total shows whether the list has grown (R24). Until
        /// then the list keeps its end. No item is removed, and no end is announced twice (R14, R38).
        var rechecksEnd = false
        /// That end. `nil` if no end was known before this pass.
        var oldEnd: Int?
        /// Whether the last page of a chain with a cursor was requested again in this pass.
        var hasReadLastPage = false
    }

    /// An item that arrived at two positions in one walk.
    struct Repeat: Hashable {
        var key: UInt64
        /// The number of items that the walk had received before the item arrived again.
        var received: Int
    }

    /// Items at the head of answers of one walk that are the last items before the answer. An insert during the walk
    /// pushes them there, an inclusive cursor returns them again, and a list may repeat an item at that place.
    struct Pushes: Equatable {
        /// The number of such items in each answer behind page one.
        var counts: [Int] = []
        /// The items, by the number of items that the walk had received before.
        var items: [Int: ItemIdentity] = [:]
        /// Whether an item has another content than the item before it.
        var hasOthers = false

        var isEmpty: Bool { items.isEmpty }

        /// Whether each answer begins with the same number of them, as with an inclusive cursor.
        var isInclusive: Bool { counts.allSatisfy { $0 == counts.first } }

        mutating func add(_ sighting: ObservedPage, at offset: Int, received: Int) {
            var count = 0
            for (index, identity) in sighting.identities.enumerated() {
                guard let place = sighting.places[index], place.position < offset else { break }
                items[received + index] = identity
                if place.content != identity.content { hasOthers = true }
                count += 1
            }
            counts.append(count)
        }

        /// Whether both walks received the same items again at the same places, whatever their content.
        func hasKeys(of other: Pushes) -> Bool {
            counts == other.counts && items.mapValues(\.key) == other.items.mapValues(\.key)
        }
    }

    /// An item that arrived at one position while it is stored at another.
    struct Collision: Hashable {
        var key: UInt64
        var places: Set<Int>
    }

    /// How often an item arrived at one position while it is stored at another.
    struct Collisions {
        var count = 0
        /// The hash of the item that arrived last.
        var content: UInt64 = 0
        /// The number of last arrivals with that same content.
        var alike = 0
    }

    /// A walk from page one to the end of a chain in which no answer contradicted another.
    struct WholeWalk: Equatable {
        /// The end of the chain.
        var end: Int
        /// The total of page one. `nil` means unknown.
        var total: Int?
    }

    /// A total that is larger than the number of returned items. It counts as wrong once a second page one repeats it.
    struct Overcount: Equatable {
        var reached: Int
        var total: Int
    }

    /// An answer that showed that the list differs from the cached one.
    struct DriftEvidence {
        var offset: Int
        var page: FetchedPage
        /// Whether two answers said that no item follows (R20).
        var isEnd: Bool
    }

    /// How a walk of a chain passes through held items (R22, R23).
    enum TailWalk {
        /// The walk continues until the list is as long as the origin's total.
        case untilExplained
        /// The walk continues to the end.
        case whole
        /// The walk begins at the last page, and checks whether the list still ends there. An item at another position
        /// starts a walk from page one.
        case checkingEnd
    }

    /// The state at the time of a request.
    struct Asked {
        /// The storage's time.
        var at: Timestamp
        /// The version of the list, if the answer belongs to a position in it (R4).
        var under: ListVersion?
    }

    /// A sweep in progress (R23).
    struct SweepState {
        /// Answers that wait for earlier ones, by position.
        var answers: [Int: FetchedPage] = [:]
        /// All positions before this one have been swept.
        var position = 0
        var isDone = false
        /// The version of the list after this sweep's last commit.
        var version: ListVersion?
        /// Whether the sweep is a walk of a chain, so that its progress is a cursor.
        var isChain = false
        /// Whether this run has begun to sweep.
        var isBegun = false
        /// Whether the storage has recorded the progress of this sweep. If the record is gone later, another process
        /// has finished the sweep.
        var isRecorded = false
        /// Whether the walk of a chain has reached its end.
        var isAtEnd = false
        /// How often the sweep found an unexpected list, by position.
        var failures: [Int: Int] = [:]
    }
}
