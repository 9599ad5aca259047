#if Tool
import HTTPPageSource
import PageModel

/// The options for the settings of the libraries.
///
/// A message of a library names a setting as Swift does, and a store keeps the message in that form. The tool shows the
/// option instead.
enum SettingNames {
    private static let names: [(setting: String, option: String)] =
        HTTPSourceConfiguration.Setting.allCases.map { (setting: $0.description, option: SettingNames.option(for: $0)) }
        + [(setting: "HTTPNetwork.certificates", option: "--cacert")]

    /// Returns the text with options in place of settings. `A = x, B = y` becomes `--a x --b y`.
    static func options(in text: String) -> String {
        guard names.contains(where: { text.contains($0.setting) }) else { return text }
        var shown = text.replacing(", HTTPSourceConfiguration.", with: " HTTPSourceConfiguration.")
        for name in names {
            shown = shown.replacing("\(name.setting) = ", with: "\(name.option) ")
            shown = shown.replacing(name.setting, with: name.option)
        }
        return shown
    }

    private static func option(for setting: HTTPSourceConfiguration.Setting) -> String {
        switch setting {
        case .paging: "--paging"
        case .items: "--items"
        case .id: "--id"
        // No option sets the key of a keyset. The option `--key` names a query instead.
        case .key: "the key"
        case .total: "--total"
        case .next: "--next"
        case .hasMore: "--has-more"
        case .limitParameter: "--limit-param"
        case .offsetParameter: "--offset-param"
        case .pageParameter: "--page-param"
        case .firstPage: "--first-page"
        case .cursorParameter: "--cursor-param"
        case .cursorIn: "--cursor-in"
        case .body: "--method POST --body"
        case .rebinds: "--rebind"
        }
    }
}

extension FetchFailure {
    /// The message with options in place of settings.
    var shownMessage: String { SettingNames.options(in: message) }

    /// The HTTP status, or a short message, or else the class of the failure, for a line without room for a long
    /// message.
    var shortMessage: String {
        if let httpStatus { return String(httpStatus) }
        return shownMessage.count <= 24 ? shownMessage : failureClass.rawValue
    }
}
#endif
