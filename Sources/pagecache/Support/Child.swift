#if Tool
import Foundation

/// This very program, run as a process of its own.
final class Child {
    private let process = Foundation.Process()
    private let readers: [Task<Data, Never>]
    private(set) var output = ""
    private(set) var errors = ""

    init(_ arguments: [String]) throws {
        let pipes = [Pipe(), Pipe()]
        process.executableURL = Bundle.main.executableURL
        process.arguments = arguments
        process.standardOutput = pipes[0]
        process.standardError = pipes[1]
        process.standardInput = FileHandle.nullDevice
        try process.run()
        // Read while it runs, or a full pipe would stop it; on threads that may block.
        readers = pipes.map { pipe in
            let handle = pipe.fileHandleForReading
            return Task.detached {
                await withCheckedContinuation { continuation in
                    DispatchQueue.global().async { continuation.resume(returning: handle.readDataToEndOfFile()) }
                }
            }
        }
    }

    /// Nobody is left behind, also when the story is cut short.
    deinit {
        if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) }
    }

    var isRunning: Bool { process.isRunning }
    var status: Int32 { process.terminationStatus }

    /// As hard as it gets: `kill -9`.
    func kill() {
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// Waits for its end, and takes what it wrote.
    func wait() async {
        output = String(decoding: await readers[0].value, as: UTF8.self)
        errors = String(decoding: await readers[1].value, as: UTF8.self)
        process.waitUntilExit()
    }

    /// The JSON object it wrote, if it ended as it should.
    func result(expecting wanted: Int32) throws -> ChildResult {
        guard status == wanted,
            let object = try? JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any]
        else {
            let said = errors.split(separator: "\n").last.map(String.init) ?? "nothing"
            throw ToolFailure(.internal, "child", "a run of pagecache ended with \(status) and said: \(said)")
        }
        return ChildResult(members: object)
    }
}

/// Members of the JSON object that a run wrote.
struct ChildResult {
    let members: [String: Any]

    func int(_ name: String) -> Int { members[name] as? Int ?? 0 }
    func arrayCount(_ name: String) -> Int { (members[name] as? [Any])?.count ?? 0 }
}
#endif
