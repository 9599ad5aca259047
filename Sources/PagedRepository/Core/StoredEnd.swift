import PageModel

/// The end of the stored list that pages in memory follow. An answer that contradicts it shows that the list has
/// changed since it was stored.
struct StoredEnd: Equatable {
    var total: ListTotal
    /// The last stored items, in order.
    var last: PageContent
    /// Whether ids repeat in the stored list (R25).
    var allowsDuplicates = false
}
