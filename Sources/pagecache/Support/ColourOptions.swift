#if Tool
import ArgumentParser

/// Whether results are coloured.
enum ColourChoice: String, CaseIterable, ExpressibleByArgument {
    case auto, always, never
}

/// The options for colours.
struct ColourOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Colours: auto, always or never. 'auto' colours on a terminal.",
            discussion:
                "NO_COLOR turns colours off. CLICOLOR_FORCE turns them on without a terminal. CLICOLOR=0 and TERM=dumb turn 'auto' off.",
            valueName: "when"))
    var color: ColourChoice?
    @Flag(name: .long, help: "Short for --color never.")
    var noColor = false

    func validate() throws {
        if noColor, let color, color != .never {
            throw ValidationError("--color \(color.rawValue) and --no-color exclude each other; name one of them")
        }
    }

    /// Whether standard output gets colours. `--no-color`, `--color always` and `--color never` override the
    /// environment, and NO_COLOR overrides the other variables (no-color.org, bixense.com/clicolors).
    func isColoured(environment: [String: String], isTerminal: Bool) -> Bool {
        func isSet(_ name: String) -> Bool { environment[name].map { !$0.isEmpty } ?? false }
        if noColor { return false }
        switch color {
        case .always: return true
        case .never: return false
        case .auto, nil: break
        }
        if isSet("NO_COLOR") { return false }
        if isSet("CLICOLOR_FORCE"), environment["CLICOLOR_FORCE"] != "0" { return true }
        return isTerminal && environment["TERM"] != "dumb" && environment["CLICOLOR"] != "0"
    }
}
#endif
