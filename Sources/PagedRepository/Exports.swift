// A program that imports this module also sees the values of `PageModel`, such as `QueryKey` and `FetchFailure`, and
// the store on SQLite. No other file of this module imports `PageStore`: the module knows storages only as
// `PageStorage`.
@_exported public import PageModel
@_exported public import PageStore
