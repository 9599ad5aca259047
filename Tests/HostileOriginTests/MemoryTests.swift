#if Tool
import HostileOrigin
import ProgramSupport
import StorageSupport
import Testing
import ToolSupport

/// The peak memory of the tool with hostile answers (R43). The system measures it in a separate process.
@Suite("A hostile origin: memory", .serialized)
struct MemoryTests {
    /// A program that runs another one, and prints its peak memory in KiB after its output.
    private static let measured = """
        import resource, subprocess, sys
        status = subprocess.run(sys.argv[1:]).returncode
        print("peak", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
        sys.exit(status)
        """

    /// Runs a synchronization. Returns the result, and the peak memory in bytes.
    private func sync(_ bench: ToolBench) async throws -> (ended: Program.Ended, peak: Int) {
        let command = [
            Tool.path, "sync", bench.list, "--store", bench.folder.store, "--wait", "0s", "--quiet", "--json",
        ]
        let ended = try await Program.run(
            "/usr/bin/env", ["python3", "-c", MemoryTests.measured] + command + ToolBench.places)
        let line = try #require(ended.output.split(separator: "\n").last { $0.hasPrefix("peak ") }, "\(ended.errors)")
        return (ended, try #require(Int(line.dropFirst("peak ".count))) << 10)
    }

    /// A block of a large answer. Blocks are sent one by one, so that neither side needs to hold the answer.
    private static let block = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20)
    private static let json = "Content-Type: application/json"
    private static let beginning = #"{"total":6,"items":[{"id":"i1","text":""#
    private static let ending = #""}],"next":null}"#

    private static func item(megabytes: Int) -> [Step] {
        let length = beginning.utf8.count + megabytes << 20 + ending.utf8.count
        return [
            .head("HTTP/1.1 200 OK", json, "Content-Length: \(length)"), .text(beginning),
            .repeated(block, times: megabytes),
            .text(ending),
        ]
    }

    private static func chunkedItem(megabytes: Int) -> [Step] {
        [
            .head("HTTP/1.1 200 OK", json, "Transfer-Encoding: chunked"), .chunk(beginning),
            .chunks(block, times: megabytes), .chunk(ending), .lastChunk,
        ]
    }

    private static let bomb: [Step] = {
        let bomb = Gzip.bomb(megabytes: 1_024)
        return [
            .head("HTTP/1.1 200 OK", json, "Content-Encoding: gzip", "Connection: close"), .bytes(bomb.start),
            .repeated(bomb.block, times: bomb.times), .close,
        ]
    }()

    struct Load: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let steps: [Step]
    }

    static let loads = [
        Load(testDescription: "an item of 50 MB", steps: item(megabytes: 50)),
        Load(testDescription: "an item of 50 MB in chunks", steps: chunkedItem(megabytes: 50)),
        Load(testDescription: "an item of 9 MB in a body that is not too large", steps: item(megabytes: 9)),
        Load(testDescription: "a gigabyte in a megabyte", steps: bomb),
        Load(testDescription: "four gigabytes in chunks", steps: chunkedItem(megabytes: 4_096)),
        Load(
            testDescription: "30 MB of opening brackets",
            steps: [
                .head("HTTP/1.1 200 OK", json, "Content-Length: \(30 << 20)"),
                .repeated([UInt8](repeating: UInt8(ascii: "["), count: 1 << 20), times: 30),
            ]),
    ]

    @Test(
        "A hostile answer ends the tool with 65, and adds at most four times the largest body to its usual memory",
        .timeLimit(.minutes(20)), arguments: loads)
    func bounded(load: Load) async throws {
        try await ToolBench.run { bench in
            let (good, usual) = try await sync(bench)
            #expect(good.status == 0, "\(good.errors)")
            #expect(usual > 1 << 20, "the measurement is implausible")
            bench.origin.set("/list", .script(load.steps))
            let (ended, peak) = try await sync(bench)
            #expect(ended.status == 65, "\(ended.errors)")
            #expect(ended.errors.contains("limit_exceeded"), "\(ended.errors)")
            #expect(peak < usual + 128 << 20, "\(peak >> 20) MB, and \(usual >> 20) MB for a good list")
            #expect(try await bench.shown() == (1...6).map(GoodList.item))
        }
    }
}
#endif
