#if Tool
import HostileOrigin
import ProgramSupport
import StorageSupport
import Synchronization
import Testing
import ToolSupport

/// An origin whose items have other content in every answer, such as an age. It states no total, and the token of its
/// last page leads to an empty page.
@Suite("A hostile origin: items with other content in every answer")
struct ChangingItemsTests {
    /// - Parameter id: Returns the member that identifies an item, with a comma, or nothing.
    private func room(of count: Int = 60, _ id: @escaping @Sendable (Int) -> String) -> Behaviour {
        let answers = Answers()
        return .answers { request in
            let start = request.parameter("from").flatMap { Int($0.dropFirst()) } ?? 0
            let end = min(start + 10, count), age = answers.next()
            let items = (start..<end).map { #"{\#(id($0))"n":\#($0),"age":\#(age)}"# }.joined(separator: ",")
            return .json(#"{"items":[\#(items)],"start":"t\#(start)","end":"t\#(end)"}"#)
        }
    }

    private final class Answers: Sendable {
        private let count = Mutex(0)

        func next() -> Int {
            count.withLock { count in
                count += 1
                return count
            }
        }
    }

    @Test(
        "Without ids the run ends after a few passes with 75, and names the option for the id",
        .timeLimit(.minutes(20)))
    func withoutIDs() async throws {
        try await ToolBench.run { bench in
            bench.origin.set("/room", room { _ in "" })
            let ended = try await bench.sync(path: "/room")
            #expect(ended.status == 75)
            #expect(ended.errors.contains("the list kept changing while it was read"))
            #expect(ended.errors.contains("--id"))
            #expect(bench.origin.requests.count < 60, "\(bench.origin.requests.count) requests")
        }
    }

    @Test(
        "With ids the list is complete, the next run takes three requests, and a sweep takes at most two walks",
        .timeLimit(.minutes(20)))
    func withIDs() async throws {
        try await ToolBench.run { bench in
            bench.origin.set("/room", room { #""event_id":"e\#($0)","room_id":"r","# })
            let ended = try await bench.sync(path: "/room")
            #expect(ended.status == 0, "\(ended.errors)")
            #expect(try await bench.shown(path: "/room").count == 60)
            let requests = bench.origin.requests.count
            #expect(requests < 20, "\(requests) requests")
            #expect(try await bench.sync(path: "/room").status == 0)
            #expect(bench.origin.requests.count - requests == 3, "page one, the last page, and the page after it")
            #expect(try await bench.sync(["--sweep"], path: "/room").status == 0)
            #expect(bench.origin.requests.count - requests <= 3 + 2 * 7 + 3)
            // Page one changes as always, and the list has grown at its end.
            bench.origin.set("/room", room(of: 61) { #""event_id":"e\#($0)","room_id":"r","# })
            #expect(try await bench.sync(path: "/room").status == 0)
            #expect(try await bench.shown(path: "/room").count == 61)
        }
    }
}
#endif
