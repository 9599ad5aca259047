#if Tool
public import ProgramSupport
public import StorageSupport

extension Folder {
    /// Runs the built tool on the store in this folder: see `Tool.run`.
    public func tool(_ arguments: [String], environment: [String: String] = [:]) async throws -> Program.Ended {
        try await Tool.run(arguments + ["--store", store], environment: environment)
    }
}
#endif
