import PageModel

/// The last items and the total of the stored list, which pages in memory follow. An answer that contradicts them shows
/// that the list has changed since it was stored.
struct StoredEnd: Equatable {
    var total: ListTotal
    /// The last stored items, in order.
    var last: PageContent
    /// Whether ids repeat in the stored list (R25).
    var allowsDuplicates = false
}
