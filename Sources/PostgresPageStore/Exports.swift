#if PostgreSQL
// A program that imports this module also sees the values of `PageModel`, such as `QueryKey` and `StorageError`.
@_exported public import PageModel
#endif
