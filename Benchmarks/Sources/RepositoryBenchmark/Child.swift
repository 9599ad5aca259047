import Foundation
import Measuring

/// This program once more, for work that has to find, or to leave, an empty process.
enum Child {
    /// Runs it with these arguments.
    /// - Parameter isHeard: whether what it prints is for us, and not for the terminal.
    /// - Returns: what it printed, when that is for us.
    @discardableResult
    static func run(_ arguments: [String], isHeard: Bool = false) async throws -> String {
        let process = Process()
        process.executableURL = Bundle.main.executableURL ?? URL(fileURLWithPath: CommandLine.arguments[0])
        process.arguments = arguments
        let pipe = Pipe()
        if isHeard { process.standardOutput = pipe }
        // What we have printed comes before what it prints.
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
