#if Tool
import ArgumentParser

/// The help for arguments that name a query.
enum QueryHelp {
    static let one: ArgumentHelp =
        "The key or id of a query, or a unique prefix of one. The key is the URL unless --key was set."
    static let optional: ArgumentHelp =
        "The key or id of a query, or a unique prefix of one. The key is the URL unless --key was set. Default: all queries."
}
#endif
