import PageModel

extension EphemeralPages {
    /// The items of an answer, compared with the held ones.
    struct Arrival: Equatable {
        /// The position of the answer's first item at the origin.
        var asked: Int
        /// The number of items of the answer.
        var count: Int
        /// The number of held items that were requested again.
        var expected: Int
        /// The number of items at the head of the answer that are the last held ones, in their order.
        var repeated = 0
        /// Whether the answer has further held items after these.
        var hasKnown = false
        /// The index in the answer at which the list begins again with its first items. `nil` if it does not.
        var end: Int?
        /// Whether the answer is the origin's last page, moved back so that it is full. Its exact total ends with the
        /// answer.
        var isClamped = false
        /// Whether the answer repeats the last held page, or the first one.
        var isRepetition = false
        /// Whether the answer repeats such a page by its ids, but has other content.
        var isOther = false
        var total: ListTotal

        init(_ page: FetchedPage, asked: Int, in pages: EphemeralPages) {
            self.asked = asked
            let keys = pages.comparedKeys(of: page.content)
            count = keys.count
            total = page.total
            expected = max(0, pages.position - asked)
            if let first = keys.first, let index = pages.keys.suffix(count).lastIndex(of: first),
                pages.keys[index...].elementsEqual(keys.prefix(pages.keys.count - index))
            {
                repeated = pages.keys.count - index
            }
            let exact = page.total.exactCount
            isClamped =
                repeated > expected && exact != nil && exact == pages.position - repeated + count && page.next == nil
            var known = (repeated..<max(repeated, count)).filter { pages.holds(page.content.ids.bytes(at: $0)) }
            if let cut = known.first, cut > 0, exact == pages.position - repeated + cut, page.next == nil,
                keys[cut...].elementsEqual(pages.keys.prefix(count - cut))
            {
                end = cut
                known = []
            }
            hasKnown = !known.isEmpty
            isRepetition = count > expected && (repeated == count || pages.keys.starts(with: keys))
            isOther = isRepetition && !pages.holdsAlike(page.content)
        }

        /// Whether the answer shows that the list has changed, or that the positions of the origin are unreliable.
        func isMismatch(after known: ListTotal, _ access: PagingAccess) -> Bool {
            if hasKnown || isOther || known.contradicts(total) { return true }
            guard access.supportsRandomAccess else { return false }
            return repeated < min(expected, 1) || repeated > expected && !isClamped
        }

        /// Whether the answer differs from the expected one only by items that inserts have pushed into it.
        var isPushed: Bool { repeated > 0 && repeated >= expected && !hasKnown }
    }

    /// Returns the number of items at the head of an answer that are held already, if an earlier walk has received the
    /// same answer at this place. Where items have no ids, or ids repeat, equal items are then items of the list (R25),
    /// unless the origin has returned its last or its first page again. The total shows which of the two it is.
    func repeated(in arrival: Arrival, _ page: FetchedPage) -> Int {
        let lacksIDs = page.content.ids.contains { $0 == nil }
        guard lacksIDs || allowsDuplicates, !arrival.isClamped else { return arrival.repeated }
        let isWholePage = page.content.count >= fullPage ?? 1
        guard arrival.isRepetition, isWholePage, page.total.exactCount ?? 0 < position + arrival.count else {
            return min(arrival.repeated, arrival.expected)
        }
        return arrival.repeated
    }

    /// Whether an item of an answer has the id of another item of the answer, and other content. The ids then do not
    /// identify the items (R25). If the answer is confirmed, the id of a held item counts, too. Otherwise the held item
    /// may have been edited between two answers.
    func repeatsIDs(_ content: PageContent, isConfirmed: Bool) -> Bool {
        var own: [[UInt8]: UInt64] = [:]
        for (index, identity) in content.identities.enumerated() {
            guard let id = content.ids.bytes(at: index) else { continue }
            if let other = own.updateValue(identity.content, forKey: id), other != identity.content { return true }
        }
        return isConfirmed && !holdsAlike(content)
    }

    /// Whether all items of an answer that are held by id have the content of the held ones.
    func holdsAlike(_ content: PageContent) -> Bool {
        content.identities.enumerated().allSatisfy { index, identity in
            content.ids.bytes(at: index).flatMap { ids[$0] } ?? identity.content == identity.content
        }
    }

    /// Returns the values by which the items of an answer are compared with the held ones.
    func comparedKeys(of content: PageContent) -> [UInt64] {
        content.identities.map { allowsDuplicates ? $0.content : $0.key }
    }

    /// Whether an item with this id is held.
    func holds(_ id: [UInt8]?) -> Bool { id.map { ids[$0] != nil } ?? false }
}
