#if PostgreSQL
public import PageModel

extension PostgreSQLPageStore {
    /// Opens the store on a server.
    ///
    /// A store of a newer version is refused and left untouched, and so is a schema with other tables than those of a
    /// store (R8).
    /// - Parameters:
    ///   - connectionString: a URI, or keywords and values, in the form that libpq accepts. libpq also reads its `PG…`
    ///     environment variables, the service file and the password file. Messages do not contain the password of the
    ///     connection string.
    ///   - mode: the action when there is no store. Defaults to creating one.
    ///   - options: the settings. Defaults to `Options()`.
    ///   - clock: the source of every stored time and of the ends of leases (R52). Defaults to the server's clock.
    ///   - stamps: the generator of version stamps (R51). Defaults to the system's random numbers.
    /// - Throws: `StorageError`. The usual codes are `notFound`, `cannotCreate`, `permission`, `notAStore`,
    ///   `newerSchema`, `unavailable`, `damaged`, `full` and `busy`.
    public static func open(
        _ connectionString: String, mode: Mode = .createIfMissing, options: Options = Options(),
        clock: (any StorageClock)? = nil,
        stamps: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
    ) async throws(StorageError) -> PostgreSQLPageStore {
        let place = name(of: connectionString, schema: options.schema)
        // The server would shorten a longer name, and the store would not find its tables again.
        guard (1...63).contains(options.schema.utf8.count), !options.schema.utf8.contains(0) else {
            throw StorageError(.cannotCreate, "the name of a schema in PostgreSQL has 1 to 63 bytes, none of them 0")
        }
        let pool: PostgresPool
        let ownPool: PostgresPool
        do throws(PostgresError) {
            var settings = PostgresPool.Options()
            settings.connections = max(1, options.connections)
            settings.cancellationGrace = PostgreSQLPageStore.cancellationGrace
            pool = try PostgresPool(connectionString, options: settings)
            settings.connections = 1
            ownPool = try PostgresPool(connectionString, options: settings)
        } catch {
            // An address that cannot be parsed may have its password anywhere.
            throw StorageError(error, at: "PostgreSQL")
        }
        let dialect = Dialect(schema: options.schema)
        let server = Server(pool, dialect, options, clock: clock, place: place)
        var unflushed = options
        unflushed.durability = .normal
        let liveness = Liveness(
            lease: options.ownerLease, on: Server(ownPool, dialect, unflushed, clock: clock, place: place))
        do throws(StorageError) {
            let migrator = Migrator(server: server, schema: options.schema, name: place)
            let stamp = try await migrator.open(creates: mode == .createIfMissing, writes: mode != .readOnly)
            let copy = options.localCopy.map { CopiedPages($0, of: stamp) }
            let announcer = ServerChangeNotifier(
                server, channel: "pagecache_\(String(stamp, radix: 16))", isReadOnly: mode == .readOnly,
                pollInterval: options.pollInterval
            ) { [weak copy] columns in copy?.received(columns, on: server) }
            var openedAt = server.moment?.now
            if openedAt == nil { openedAt = server.moment(try await server.read(Server.readTime)).now }
            if options.listensAtOnce { await announcer.start(for: options.busyBudget / 10) }
            copy?.start(on: server, every: options.pollInterval * 10)
            return PostgreSQLPageStore(
                name: place, server: server, isReadOnly: mode == .readOnly, options: options,
                accesses: ReadLog(openedAt: openedAt ?? Timestamp(milliseconds: 0)), announcer: announcer,
                liveness: liveness, copy: copy, stamps: stamps)
        } catch {
            await liveness.end()
            await server.close()
            throw error
        }
    }

    /// The time that a call may still take once its task is cancelled. A cancelled run has to release its leases and to
    /// store the pages that have arrived. The other storages ignore cancellation.
    private static var cancellationGrace: Duration { .seconds(2) }

    /// Returns the display name of the store, without user, password and parameters.
    static func name(of connectionString: String, schema: String) -> String {
        let schemes = ["postgres://", "postgresql://"]
        guard let scheme = schemes.first(where: { connectionString.hasPrefix($0) }) else {
            return "PostgreSQL, schema \(schema)"
        }
        let rest = connectionString.dropFirst(scheme.count).prefix { $0 != "?" }
        // The last "@" ends the password. A "/" or "@" inside the password has to be percent-encoded.
        let afterUser = rest.lastIndex(of: "@").map { rest[rest.index(after: $0)...] } ?? rest
        return "\(scheme)\(afterUser) (schema \(schema))"
    }
}
#endif
