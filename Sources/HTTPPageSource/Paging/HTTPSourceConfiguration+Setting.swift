extension HTTPSourceConfiguration {
    /// A setting, as failures and warnings name it.
    ///
    /// A message contains the name in Swift (``description``). A program whose users know a setting by another name, such
    /// as the option of a command, replaces the name before it shows the message.
    public enum Setting: String, CaseIterable, Sendable, CustomStringConvertible {
        case paging, items, id, key, total, next, hasMore
        case limitParameter, offsetParameter, pageParameter, firstPage, cursorParameter, cursorIn, rebinds

        /// The name in Swift, such as `HTTPSourceConfiguration.items`.
        public var description: String { "HTTPSourceConfiguration.\(rawValue)" }

        /// The setting and a value, such as `HTTPSourceConfiguration.items = /results`.
        func assigned(_ value: some CustomStringConvertible) -> String { "\(self) = \(value)" }
    }
}
