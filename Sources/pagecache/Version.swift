#if Tool
/// The version of the tool, as `--version` and the manual page print it. A release changes this line, the heading in
/// CHANGELOG.md, and Documentation/pagecache.1.
let toolVersion = "0.1.0"
#endif
