#if PostgreSQL && canImport(Glibc)
import Glibc
import Synchronization

/// A TCP proxy on loopback that can hold connections back, drop or collect the bytes of the server, or cut a connection.
/// One thread per direction.
final class SilentProxy: Sendable {
    private struct State {
        var descriptors: [Int32] = []
        var isDropping = false
        var isHolding = false
        var isCollecting = false
        /// The messages of clients until a connection is cut; `nil` means that none is.
        var messagesUntilCut: Int?
        /// The share of the bytes of the last message that is delivered.
        var share = 1.0
        var isClosedByCut = false
        var isClosed = false
        /// The clients of the connections that have ended in one direction.
        var halfEnded: Set<Int32> = []
        /// The clients whose connections are held back.
        var held: [Int32] = []
    }

    let port: UInt16
    private let listener: Int32
    private let target: UInt16
    private let state = Mutex(State())

    init(port target: UInt16) throws {
        (listener, port) = try OwnServer.silentListener()
        self.target = target
        SilentProxy.thread { [self] in
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { return OwnServer.closeDescriptor(listener) }
                let isHeld = state.withLock { state in
                    if state.isHolding { state.held.append(client) }
                    return state.isHolding
                }
                if !isHeld { forward(client) }
            }
        }
    }

    private func forward(_ client: Int32) {
        guard let server = SilentProxy.connect(target) else { return }
        state.withLock { $0.descriptors += [client, server] }
        SilentProxy.thread { [self] in
            copy(client, server, isAnswer: false)
            ended(client, server)
        }
        SilentProxy.thread { [self] in
            copy(server, client, isAnswer: true)
            ended(client, server)
        }
    }

    /// Closes the descriptors of a connection that has ended in both directions.
    private func ended(_ client: Int32, _ server: Int32) {
        state.withLock { state in
            guard !state.halfEnded.insert(client).inserted else { return }
            state.halfEnded.remove(client)
            state.descriptors.removeAll { $0 == client || $0 == server }
            OwnServer.closeDescriptor(client)
            OwnServer.closeDescriptor(server)
        }
    }

    /// Ends the connection whose client sends the last of so many messages, once that message is delivered.
    /// - Parameters:
    ///   - share: the part of the bytes of that message that is delivered, from 0 to 1. Defaults to all of them.
    ///   - closes: whether the proxy then ends all connections and accepts no more. Defaults to false.
    func cut(afterMessages count: Int, delivering share: Double = 1, closes: Bool = false) {
        state.withLock { ($0.messagesUntilCut, $0.share, $0.isClosedByCut) = (count, share, closes) }
    }

    /// Whether fewer messages than those of `cut` have been sent.
    var isCutDue: Bool { state.withLock { $0.messagesUntilCut != nil } }

    /// Returns the share of a message that is delivered before its connection ends. Returns nil where it goes on.
    private func shareBeforeCut() -> Double? {
        state.withLock { state in
            guard let left = state.messagesUntilCut else { return nil }
            state.messagesUntilCut = left > 1 ? left - 1 : nil
            return left > 1 ? nil : state.share
        }
    }

    /// Accepts new connections, and delivers nothing of them.
    func holdConnections() { state.withLock { $0.isHolding = true } }

    /// Delivers what the held connections have sent and will send.
    func releaseConnections() {
        let held = state.withLock { state in
            defer { (state.isHolding, state.held) = (false, []) }
            return state.held
        }
        for client in held { forward(client) }
    }

    /// Reads the answers of the server, and delivers no more of them.
    func dropAnswers() { state.withLock { $0.isDropping = true } }

    /// Delivers the answers of the next connection that the server ends, at once and with that end.
    func collectAnswers() { state.withLock { $0.isCollecting = true } }

    private func endCollecting() { state.withLock { $0.isCollecting = false } }

    /// Ends all connections and accepts no more.
    func close() {
        state.withLock { state in
            guard !state.isClosed else { return }
            state.isClosed = true
            shutdown(listener, Int32(SHUT_RDWR))
            for descriptor in state.descriptors { shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }

    private func copy(_ source: Int32, _ target: Int32, isAnswer: Bool) {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        var collected: [UInt8] = []
        while true {
            let count = read(source, &buffer, buffer.count)
            guard count > 0 else { break }
            if isAnswer, state.withLock({ $0.isDropping }) { continue }
            if isAnswer, state.withLock({ $0.isCollecting }) {
                collected += buffer[..<count]
                continue
            }
            let share = isAnswer ? nil : shareBeforeCut()
            SilentProxy.send(buffer[..<Int(Double(count) * (share ?? 1))], to: target)
            guard share != nil else { continue }
            if state.withLock({ $0.isClosedByCut }) { close() }
            break
        }
        if !collected.isEmpty {
            SilentProxy.send(collected[...], to: target)
            endCollecting()
        }
        shutdown(target, Int32(SHUT_RDWR))
    }

    private static func send(_ bytes: ArraySlice<UInt8>, to target: Int32) {
        var rest = bytes
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { Glibc.send(target, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard written > 0 else { return }
            rest = rest.dropFirst(written)
        }
    }

    private static func connect(_ port: UInt16) -> Int32? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        return code == 0 ? descriptor : nil
    }

    private static func thread(_ body: @escaping @Sendable () -> Void) {
        final class Box {
            let body: @Sendable () -> Void
            init(_ body: @escaping @Sendable () -> Void) { self.body = body }
        }
        var thread = pthread_t()
        pthread_create(
            &thread, nil,
            { argument in
                if let argument { Unmanaged<Box>.fromOpaque(argument).takeRetainedValue().body() }
                return nil
            }, Unmanaged.passRetained(Box(body)).toOpaque())
        pthread_detach(thread)
    }
}
#endif
