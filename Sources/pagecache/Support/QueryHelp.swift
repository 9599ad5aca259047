#if Tool
import ArgumentParser

/// The help for arguments that name a query.
enum QueryHelp {
    static let one: ArgumentHelp = "The key, URL or id of a query, or a unique prefix of one."
    static let optional: ArgumentHelp =
        "The key, URL or id of a query, or a unique prefix of one. Default: all queries."
}
#endif
