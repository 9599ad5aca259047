#if PostgreSQL && canImport(Glibc)
import Foundation
import Glibc
import PostgresPageStore
import StorageSupport
import Testing

/// A server that only these tests use, because they restart it and count its sessions. It runs while the suite does.
enum OwnServer {
    /// What `Scripts/postgres start` has written into the file "env" of its directory.
    @TaskLocal static var variables: [String: String] = [:]

    static var connectionString: String { variables["PAGECACHE_TEST_POSTGRES"] ?? "" }
    static var directory: String? { variables["PAGECACHE_TEST_POSTGRES_DIRECTORY"] }
    static var pgBouncer: String? { variables["PAGECACHE_TEST_PGBOUNCER"] }

    /// Whether `Scripts/postgres` can start a server here: it has started the one that the other suites use.
    static var isPossible: Bool { TestServer.isThere && environment("PAGECACHE_TEST_POSTGRES_DIRECTORY") != nil }
    static let isImpossible: Comment =
        "no server of Scripts/postgres: run `Scripts/postgres start DIR && . DIR/env`, and a second one is started"
    static var hasPgBouncer: Bool { environment("PAGECACHE_TEST_PGBOUNCER") != nil }

    /// The connection string with other keywords, which override those of the URI.
    static func connectionString(_ parameters: String) -> String {
        connectionString + (connectionString.contains("?") ? "&" : "?") + parameters
    }

    static var port: String {
        let authority = connectionString.split(separator: "@").last ?? ""
        return String(authority.split(separator: "/").first?.split(separator: ":").last ?? "5432")
    }

    static func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    /// Restarts the server as `Scripts/postgres restart DIR MODE` does. Returns at once; the shell continues.
    static func beginRestart(_ mode: String) throws -> pid_t {
        try spawn(script, ["restart", try #require(directory), mode])
    }

    static var script: String {
        "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/") + "/Scripts/postgres"
    }

    static func variables(in file: String) throws -> [String: String] {
        var variables: [String: String] = [:]
        for line in try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n") {
            let parts = line.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, let name = parts[0].split(separator: " ").last else { continue }
            variables[String(name)] = parts[1].trimmingCharacters(in: ["'"])
        }
        return variables
    }

    static func spawn(_ path: String, _ arguments: [String]) throws -> pid_t {
        var strings = ([path] + arguments).map { strdup($0) } + [nil]
        defer { for string in strings { free(string) } }
        var process = pid_t()
        try #require(posix_spawn(&process, path, nil, nil, &strings, environ) == 0)
        return process
    }

    /// Waits for a process, on a thread of its own.
    static func end(of process: pid_t) async -> Int32 {
        await withCheckedContinuation { continuation in
            let box = Unmanaged.passRetained(Waiter(process: process, continuation: continuation)).toOpaque()
            var thread = pthread_t()
            pthread_create(
                &thread, nil,
                { argument in
                    guard let argument else { return nil }
                    let waiter = Unmanaged<Waiter>.fromOpaque(argument).takeRetainedValue()
                    var status: Int32 = 0
                    waitpid(waiter.process, &status, 0)
                    waiter.continuation.resume(returning: status)
                    return nil
                }, box)
            pthread_detach(thread)
        }
    }

    private final class Waiter {
        let process: pid_t
        let continuation: CheckedContinuation<Int32, Never>

        init(process: pid_t, continuation: CheckedContinuation<Int32, Never>) {
            self.process = process
            self.continuation = continuation
        }
    }

    /// A socket on loopback that accepts no connection and answers nothing.
    static func silentListener() throws -> (descriptor: Int32, port: UInt16) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = bind(descriptor, $0, length)
                _ = listen(descriptor, 16)
                _ = getsockname(descriptor, $0, &length)
            }
        }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }

    static func closeDescriptor(_ descriptor: Int32) { _ = close(descriptor) }

    /// The sockets and pipes of this process.
    static func openDescriptors() -> Int {
        names(in: "/proc/self/fd").count { name in
            var target = [CChar](repeating: 0, count: 256)
            let count = readlink("/proc/self/fd/\(name)", &target, 255)
            guard count > 0 else { return false }
            let text = String(decoding: target.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
            return text.hasPrefix("socket:") || text.hasPrefix("pipe:")
        }
    }

    /// The threads of this process that belong to pools.
    static func poolThreads() -> Int {
        names(in: "/proc/self/task").count { name in
            guard let file = fopen("/proc/self/task/\(name)/comm", "r") else { return false }
            defer { fclose(file) }
            var line = [CChar](repeating: 0, count: 64)
            guard fgets(&line, 64, file) != nil else { return false }
            return line.starts(with: "pagecache-pg".utf8.map { CChar(bitPattern: $0) })
        }
    }

    private static func names(in directory: String) -> [String] {
        guard let stream = opendir(directory) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                names.append(String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self))
            }
        }
        return names.filter { !$0.hasPrefix(".") }
    }
}

/// Starts the server of a suite in a temporary directory before its first test, and removes it after the last one.
struct OwnServerTrait: SuiteTrait, TestScoping {
    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        // The path of a socket is short.
        let directory = "/tmp/pagecache-" + UUID().uuidString.prefix(8)
        let started = await OwnServer.end(of: try OwnServer.spawn(OwnServer.script, ["start", directory]))
        do {
            try #require(started == 0, "Scripts/postgres start \(directory): status \(started)")
            let variables = try OwnServer.variables(in: directory + "/env")
            try await OwnServer.$variables.withValue(variables) { try await function() }
            try await remove(directory)
        } catch {
            try? await remove(directory)
            throw error
        }
    }

    private func remove(_ directory: String) async throws {
        _ = await OwnServer.end(of: try OwnServer.spawn(OwnServer.script, ["stop", directory]))
        try FileManager.default.removeItem(atPath: directory)
    }
}

extension Trait where Self == OwnServerTrait {
    static var ownServer: Self { Self() }
}

extension PostgresPool {
    /// One statement, with a deadline that only a hanging test meets.
    @discardableResult
    func run(_ sql: String, _ values: [Value] = [], within limit: Duration = .seconds(300)) async throws -> Rows {
        try await run([Statement(sql, values)], until: .now + limit)[0]
    }

    /// Lets time pass at the server.
    func pause(_ seconds: Double) async throws { try await run("SELECT pg_sleep(\(seconds))") }

    /// Waits until a query returns true. The limit is one that only a hanging test meets.
    func wait(for condition: String, _ values: [Value] = []) async throws {
        let end = ContinuousClock.now + .seconds(300)
        while try await run(condition, values).bool(0, 0) != true {
            try #require(ContinuousClock.now < end, "never true: \(condition)")
            try await pause(0.01)
        }
    }

    /// Makes the server wait for a standby that it does not have. Flushed commits then have no confirmation.
    /// - Parameter table: the name of a new table, whose rows show that commits wait.
    func demandStandby(probing table: String) async throws {
        try await run("CREATE TABLE \(table) (n int8)")
        try await run("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        try await run("SELECT pg_reload_conf()")
        // Commits wait once another process of the server has read the setting.
        for _ in 0..<10_000 {
            let error = await postgresError {
                try await run("INSERT INTO \(table) VALUES (1)", within: .seconds(2))
            }
            if error != nil { break }
        }
    }
}

/// Runs `body` with a pool, and closes the pool.
func withPool<Value>(
    _ connectionString: String = OwnServer.connectionString, _ options: PostgresPool.Options = .init(),
    _ body: (PostgresPool) async throws -> Value
) async throws -> Value {
    let pool = try PostgresPool(connectionString, options: options)
    do {
        let value = try await body(pool)
        await pool.close()
        return value
    } catch {
        await pool.close()
        throw error
    }
}

/// Returns the error that `body` throws.
func postgresError(_ body: () async throws -> Void) async -> PostgresError? {
    do { try await body() } catch { return error as? PostgresError }
    return nil
}
#endif
