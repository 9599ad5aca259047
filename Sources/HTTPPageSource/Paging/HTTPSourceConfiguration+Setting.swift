extension HTTPSourceConfiguration {
    /// A setting, as failures and warnings name it.
    ///
    /// A message contains the name in Swift (``description``). A program whose users know a setting by another name,
    /// such as the option of a command, replaces the name before it shows the message.
    public enum Setting: String, CaseIterable, Sendable, CustomStringConvertible {
        /// ``HTTPSourceConfiguration/paging``.
        case paging
        /// ``HTTPSourceConfiguration/items``.
        case items
        /// ``HTTPSourceConfiguration/id``.
        case id
        /// ``HTTPSourceConfiguration/key``.
        case key
        /// ``HTTPSourceConfiguration/total``.
        case total
        /// ``HTTPSourceConfiguration/next``.
        case next
        /// ``HTTPSourceConfiguration/hasMore``.
        case hasMore
        /// ``HTTPSourceConfiguration/limitParameter``.
        case limitParameter
        /// ``HTTPSourceConfiguration/offsetParameter``.
        case offsetParameter
        /// ``HTTPSourceConfiguration/pageParameter``.
        case pageParameter
        /// ``HTTPSourceConfiguration/firstPage``.
        case firstPage
        /// ``HTTPSourceConfiguration/cursorParameter``.
        case cursorParameter
        /// ``HTTPSourceConfiguration/cursorIn``.
        case cursorIn
        /// ``HTTPSourceConfiguration/body``.
        case body
        /// ``HTTPSourceConfiguration/rebinds``.
        case rebinds

        /// The name in Swift, such as `HTTPSourceConfiguration.items`.
        public var description: String { "HTTPSourceConfiguration.\(rawValue)" }

        /// The setting and a value, such as `HTTPSourceConfiguration.items = /results`.
        func assigned(_ value: some CustomStringConvertible) -> String { "\(self) = \(value)" }
    }
}
