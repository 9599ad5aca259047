#if Tool
import ArgumentParser

/// The options of destructive commands, and their confirmation.
struct ConsentOptions: ParsableArguments {
    @Flag(name: [.customShort("n"), .long], help: "Say what would be done, and do nothing.")
    var dryRun = false
    @Flag(name: [.short, .long], help: "Do not ask.")
    var yes = false

    /// Asks for confirmation on a terminal. Elsewhere, and with `--no-input`, throws unless `--yes` was given.
    /// - Parameters:
    ///   - command: the name of the command.
    ///   - deed: the pending action, as in "remove 3 queries".
    func ask(_ command: String, about deed: String) throws {
        if yes { return }
        let terminal = Terminal.standard
        guard terminal.canAsk else {
            throw ToolFailure(
                .usage, "needs_yes", "\(command) would \(deed)", hint: "add --yes, or --dry-run to look first")
        }
        guard terminal.confirm("\(deed.prefix(1).uppercased())\(deed.dropFirst())?") else {
            throw ToolFailure(.usage, "declined", "nothing was done")
        }
    }
}
#endif
