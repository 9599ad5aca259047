#if Tool
import DemoOrigin
import Foundation
import Testing
import ToolSupport

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The origin that other tests rely on.
@Suite("The origin of the demo")
struct DemoOriginTests {
    /// Sends one request on a new connection, and returns all bytes until it is closed. Returns an empty string when
    /// the connection fails. The code uses plain sockets, and does not block a thread of the pool.
    private func ask(_ url: String, _ method: String, _ target: String) async -> String {
        let port = UInt16(url.split(separator: ":").last ?? "") ?? 0
        return await withCheckedContinuation { continuation in
            // A thread of its own, because the shared ones also run the tasks of other tests.
            Thread.detachNewThread {
                continuation.resume(
                    returning: said("\(method) \(target) HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", to: port))
            }
        }
    }

    private func said(_ request: String, to port: UInt16) -> String {
        #if canImport(Glibc)
        let kind = Int32(SOCK_STREAM.rawValue)
        #else
        let kind = SOCK_STREAM
        #endif
        let descriptor = socket(AF_INET, kind, 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let code = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard code == 0, send(descriptor, request, request.utf8.count, 0) > 0 else { return "" }
        var answer: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 4_096)
        while case let count = recv(descriptor, &piece, piece.count, 0), count > 0 { answer += piece[..<count] }
        return String(decoding: answer, as: UTF8.self)
    }

    private func isAnswered(_ answer: String, with status: Int) -> Bool { answer.hasPrefix("HTTP/1.1 \(status) ") }

    @Test("Only valid requests for the list count, and others are refused")
    func refusals() async throws {
        let origin = DemoOrigin(count: 5, pageSize: 2)
        let url = try await origin.start()
        #expect(isAnswered(await ask(url, "GET", "/nothing"), with: 404))
        #expect(isAnswered(await ask(url, "DELETE", "/items"), with: 405))
        #expect(origin.requests.isEmpty && origin.answered == 0)
        // The first of two parameters with one name counts. Parameters without a value or a name are ignored.
        let page = await ask(url, "GET", "/items?limit=3&limit=1&=7&offset")
        #expect(isAnswered(page, with: 200) && page.contains(#""next":"/items?limit=3&offset=3""#))
        let head = await ask(url, "HEAD", "/pages?page=2")
        #expect(
            isAnswered(head, with: 200) && head.lowercased().contains("x-total-count: 5") && head.hasSuffix("\r\n\r\n"))
        #expect(origin.requests.count == 2 && origin.answered == 2)
        await origin.stop()
    }

    @Test("The origin stops while requests are held and others arrive, and refuses connections afterwards")
    func stops() async throws {
        for _ in 0..<20 {
            let origin = DemoOrigin(count: 5) { number, _ in number % 2 == 1 ? .hold : nil }
            let url = try await origin.start()
            try await withThrowingDiscardingTaskGroup { group in
                for _ in 0..<4 { group.addTask { _ = await ask(url, "GET", "/items") } }
                try await eventually("a request") { !origin.requests.isEmpty }
                await origin.stop()
            }
            #expect(await ask(url, "GET", "/items").isEmpty)
        }
    }
}
#endif
