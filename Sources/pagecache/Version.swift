#if Tool
/// The version of the tool, as `--version` and the manual page print it. A release changes only this line and the
/// heading in CHANGELOG.md.
let toolVersion = "0.1.0"
#endif
