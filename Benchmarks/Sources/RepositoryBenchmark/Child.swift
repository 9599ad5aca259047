import Foundation
import Measuring

/// This program once more, for work that has to find, or to leave, an empty process.
enum Child {
    /// Runs this program again with other arguments.
    /// - Parameter isHeard: whether to return the output of the child. Otherwise it goes to the terminal.
    /// - Returns: the output if `isHeard` is true, otherwise an empty string.
    @discardableResult
    static func run(_ arguments: [String], isHeard: Bool = false) async throws -> String {
        let process = Process()
        process.executableURL = Bundle.main.executableURL ?? URL(fileURLWithPath: CommandLine.arguments[0])
        process.arguments = arguments
        let pipe = Pipe()
        if isHeard { process.standardOutput = pipe }
        // The output of this process comes before the output of the child.
        fflush(nil)
        try await withCheckedThrowingContinuation { (ended: CheckedContinuation<Void, any Error>) in
            process.terminationHandler = { _ in ended.resume() }
            do { try process.run() } catch { ended.resume(throwing: error) }
        }
        try expect(process.terminationStatus == 0, "\(arguments.joined(separator: " ")) ends well")
        // A line or two: the pipe holds it until now.
        return isHeard ? String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self) : ""
    }
}
