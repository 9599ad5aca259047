// A program that imports this module also sees the values of `PageModel`, such as `QueryKey` and `FetchFailure`.
@_exported public import PageModel
