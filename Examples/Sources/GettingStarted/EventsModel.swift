import PagedRepository

// snippet: model
/// The model of a screen. `PagedListModel` is observable; this type only adds the headline.
@MainActor
final class EventsModel {
    let list: PagedListModel<Event>

    init(_ repository: ListRepository<Event>, account: String) {
        list = PagedListModel(repository.list(QueryKey("events", scope: account)))
    }

    var headline: String {
        switch list.displayState {
        case .nothing: "not loaded yet"
        case .loadingFirst: "loading"
        case .empty: "no events"
        case .unusable: "the events cannot be shown; update the app"
        case .firstFailed(let failure): failure.description
        case .items, .refreshing, .loadingNext: "\(list.items.count) of \(list.total.count ?? list.items.count) events"
        case .refreshFailed(let failure), .nextFailed(let failure): "\(list.items.count) events; \(failure)"
        }
    }
}
// end
