#if Tool
/// The version of the tool: what `--version` prints and what the manual page carries. A release changes this line and
/// the heading in CHANGELOG.md, and nothing else.
let toolVersion = "0.1.0"
#endif
