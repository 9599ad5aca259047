#if Tool
import Foundation
import HostileOrigin
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport

/// Runs the built tool against hostile origins.
struct ToolBench: Sendable {
    let folder = Folder()
    let origin: HostileOrigin
    let root: String
    let strangerRoot: String
    private let stranger: HostileOrigin

    /// Runs `body` with a good list at `/list`, and with a second origin that must receive no requests.
    static func run(_ body: (ToolBench) async throws -> Void) async throws {
        let (origin, stranger) = (HostileOrigin(), HostileOrigin())
        let bench = ToolBench(
            origin: origin, root: try await origin.start(), strangerRoot: try await stranger.start(), stranger: stranger
        )
        origin.set("/list", GoodList.behaviour)
        let result: Result<Void, any Error>
        do { result = .success(try await body(bench)) } catch { result = .failure(error) }
        #expect(stranger.requests.isEmpty, "another origin received a request")
        await origin.stop()
        await stranger.stop()
        try result.get()
    }

    private init(origin: HostileOrigin, root: String, strangerRoot: String, stranger: HostileOrigin) {
        (self.origin, self.root, self.strangerRoot, self.stranger) = (origin, root, strangerRoot, stranger)
    }

    var list: String { "\(root)/list" }

    /// The options that describe the answers of the origin. Tests of detection omit them.
    static let places = [
        "--paging", "next-url", "--items", "/items", "--id", "/id", "--next", "/next", "--total", "/total",
    ]

    /// Runs `pagecache sync` with secrets from the environment, without waiting for retries.
    func sync(_ more: [String] = [], path: String = "/list") async throws -> Program.Ended {
        let secrets = ["--bearer-env", "BEARER", "--header-env", "X-Api-Key=KEY"]
        return try await Tool.run(
            ["sync", "\(root)\(path)", "--store", folder.store, "--wait", "0s"] + secrets + more,
            environment: ["BEARER": Secret.password, "KEY": Secret.header])
    }

    /// Returns the items as `show` prints them into a pipe, byte for byte (R7).
    func shown(path: String = "/list") async throws -> [String] {
        try await Tool.run(["show", "\(root)\(path)", "--store", folder.store]).output.split(separator: "\n").map(
            String.init)
    }

    /// Expects neither a secret nor a control character in the output (R45, R46).
    func expectPrintable(_ ended: Program.Ended, sourceLocation: SourceLocation = #_sourceLocation) {
        expectPrintable(ended.output + ended.errors, sourceLocation: sourceLocation)
    }

    func expectPrintable(_ printed: String, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(Secret.found(in: printed) == nil, sourceLocation: sourceLocation)
        let controls = printed.unicodeScalars.filter {
            ($0.value < 0x20 && $0 != "\n") || (0x7F...0x9F).contains($0.value)
        }
        #expect(controls.isEmpty, "\(controls.map(\.value))", sourceLocation: sourceLocation)
    }
}
#endif
