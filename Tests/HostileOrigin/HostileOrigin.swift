#if HTTP
import NIOCore
import NIOPosix
import Synchronization

/// A server on loopback that sends the answers of a test byte for byte. It can send answers that no HTTP library would
/// allow.
///
/// State: the behaviour of each path, the requests so far, callers waiting for requests, and the connections, under a
/// mutex. No call is awaited and no caller is resumed while the mutex is locked.
public final class HostileOrigin: Sendable {
    private struct State {
        var behaviours: [String: Behaviour] = [:]
        var requests: [HostileRequest] = []
        var arrivals: [(count: Int, waiter: CheckedContinuation<Void, Never>)] = []
        var server: (any Channel)?
        var connections: [ObjectIdentifier: any Channel] = [:]

        mutating func takeArrivals() -> [CheckedContinuation<Void, Never>] {
            let here = arrivals.filter { $0.count <= requests.count }
            arrivals.removeAll { $0.count <= requests.count }
            return here.map(\.waiter)
        }
    }

    private let state = Mutex(State())

    public init() {}

    /// Starts to listen on a free port.
    /// - Returns: The scheme, host and port.
    /// - Throws: The error of the system.
    public func start() async throws -> String {
        let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                let (requests, continuation) = AsyncStream<HostileRequest>.makeStream()
                self.take(channel, requests)
                return channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(RequestReader(continuation))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        state.withLock { $0.server = server }
        return "http://127.0.0.1:\(server.localAddress?.port ?? 0)"
    }

    /// Closes all connections and stops listening.
    public func stop() async {
        let channels = state.withLock { state in
            defer { (state.server, state.connections) = (nil, [:]) }
            return [state.server].compactMap { $0 } + state.connections.values
        }
        for channel in channels { try? await channel.close() }
    }

    /// Sets the behaviour of a path from now on. Paths without a behaviour are answered with 404.
    public func set(_ path: String, _ behaviour: Behaviour) { state.withLock { $0.behaviours[path] = behaviour } }

    // MARK: Received requests

    /// All requests so far, in order.
    public var requests: [HostileRequest] { state.withLock { $0.requests } }

    /// Returns when this many requests have arrived.
    public func arrival(of count: Int) async {
        await withCheckedContinuation { waiter in
            let isHere = state.withLock { state in
                if state.requests.count >= count { return true }
                state.arrivals.append((count, waiter))
                return false
            }
            if isHere { waiter.resume() }
        }
    }

    // MARK: Connections

    private func take(_ channel: any Channel, _ requests: AsyncStream<HostileRequest>) {
        let id = ObjectIdentifier(channel)
        state.withLock { $0.connections[id] = channel }
        let task = Task { await self.serve(channel, requests) }
        channel.closeFuture.whenComplete { _ in
            task.cancel()
            self.state.withLock { _ = $0.connections.removeValue(forKey: id) }
        }
    }

    /// Answers the requests of one connection in order, until a script or the client ends it.
    private func serve(_ channel: any Channel, _ requests: AsyncStream<HostileRequest>) async {
        for await request in requests {
            let (behaviour, arrived) = state.withLock { state in
                state.requests.append(request)
                return (state.behaviours[request.path], state.takeArrivals())
            }
            for waiter in arrived { waiter.resume() }
            let steps = behaviour?.steps(request) ?? RawAnswer.status(404).steps(to: request)
            do {
                for step in steps { try await carryOut(step, on: channel) }
            } catch {
                // The client has closed the connection. The test checks how the client handled the answer.
                break
            }
        }
        try? await channel.close()
    }

    private func carryOut(_ step: Step, on channel: any Channel) async throws {
        try Task.checkCancellation()
        switch step {
        case .bytes(let bytes):
            try await channel.writeAndFlush(ByteBuffer(bytes: bytes))
        case .repeated(let block, let times):
            let buffer = ByteBuffer(bytes: block)
            for _ in 0..<times { try await channel.writeAndFlush(buffer) }
        case .drip(let bytes, let interval):
            for byte in bytes {
                try await channel.writeAndFlush(ByteBuffer(bytes: [byte]))
                try await channel.eventLoop.scheduleTask(in: TimeAmount(interval)) {}.futureResult.get()
                try Task.checkCancellation()
            }
        case .wait(let gate):
            await gate.pass()
        case .hang:
            try await channel.closeFuture.get()
        case .close:
            try await channel.close()
        case .reset:
            // With a linger time of zero, closing sends RST (socket(7), SO_LINGER).
            if let socket = channel as? any SocketOptionProvider {
                try await socket.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
            }
            try await channel.close()
        }
    }
}
#endif
