#if Tool
import ArgumentParser

/// The options of destructive commands, and their confirmation.
struct ConsentOptions: ParsableArguments {
    @Flag(name: [.customShort("n"), .long], help: "Show the effect, and change nothing.")
    var dryRun = false
    @Flag(name: [.short, .long], help: "Do not prompt.")
    var yes = false

    /// Returns true at once if `--yes` was given. Otherwise asks for confirmation on a terminal. Elsewhere, and with
    /// `--no-input`, throws `ToolFailure`.
    /// - Parameters:
    ///   - command: the name of the command.
    ///   - deed: the pending action, as in "remove 3 queries".
    /// - Returns: whether the action is confirmed.
    func ask(_ command: String, about deed: String) throws -> Bool {
        if yes { return true }
        let terminal = Terminal.standard
        guard terminal.canAsk else {
            throw ToolFailure(
                .usage, "needs_yes", "\(command) would \(deed)", hint: "add --yes, or --dry-run for a preview")
        }
        return terminal.confirm("\(deed.prefix(1).uppercased())\(deed.dropFirst())?")
    }
}
#endif
