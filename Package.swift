// swift-tools-version: 6.2

import PackageDescription

// CI sets PAGECACHE_STRICT=1. A newer compiler's new warning must not break the build of someone who only depends on
// us.
let strict = Context.environment["PAGECACHE_STRICT"] == "1"

let settings: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ] + (strict ? [.treatAllWarnings(as: .error)] : [])

let package = Package(
    name: "pagecache",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .library(name: "PageModel", targets: ["PageModel"]),
        .library(name: "PageStore", targets: ["PageStore"]),
        .library(name: "PostgresPageStore", targets: ["PostgresPageStore"]),
        .library(name: "PagedRepository", targets: ["PagedRepository"]),
        .library(name: "HTTPPageSource", targets: ["HTTPPageSource"]),
        .library(name: "PagedRepositoryTesting", targets: ["PagedRepositoryTesting"]),
        .executable(name: "pagecache", targets: ["pagecache"]),
    ],
    traits: [
        .default(enabledTraits: ["HTTP", "Tool"]),
        .trait(name: "HTTP", description: "HTTPPageSource: paginated HTTP APIs as page sources."),
        .trait(
            name: "Tool",
            description: "The command line tool and the origin of its demo.",
            enabledTraits: ["HTTP", "PostgreSQL", "ServiceLifecycle"]
        ),
        .trait(
            name: "PostgreSQL",
            description: "PostgresPageStore: one store on a server for many replicas. Links libpq."
        ),
        .trait(name: "ServiceLifecycle", description: "SyncEngine is a service that a ServiceGroup can own."),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-log.git", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-metrics.git", from: "2.5.0"),
        .package(url: "https://github.com/swift-server/async-http-client.git", from: "1.30.0"),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.100.0"),
        .package(url: "https://github.com/apple/swift-nio-extras.git", from: "1.26.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.30.0"),
        .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.1"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.6.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess.git", from: "1.0.0", traits: []),
        .package(url: "https://github.com/apple/swift-system.git", from: "1.5.0"),
    ],
    targets: [
        .systemLibrary(
            name: "CSQLite",
            pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]
        ),
        .systemLibrary(
            name: "CPostgres",
            pkgConfig: "libpq",
            providers: [.apt(["libpq-dev"]), .brew(["libpq"])]
        ),
        .target(name: "PageModel", swiftSettings: settings),
        .target(
            name: "PageStore",
            dependencies: ["PageModel", "CSQLite"],
            exclude: ["Migrations/postgres"],
            resources: [.embedInCode("Migrations")],
            swiftSettings: settings
        ),
        .target(
            name: "PostgresPageStore",
            dependencies: [
                "PageModel", "PageStore", .target(name: "CPostgres", condition: .when(traits: ["PostgreSQL"])),
            ],
            resources: [.embedInCode("Migrations")],
            swiftSettings: settings
        ),
        .target(
            name: "PagedRepository",
            dependencies: [
                "PageModel", "PageStore",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(
                    name: "ServiceLifecycle", package: "swift-service-lifecycle",
                    condition: .when(traits: ["ServiceLifecycle"])),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "PagedRepositoryTesting",
            dependencies: ["PageModel", "PagedRepository"],
            swiftSettings: settings
        ),
        .target(
            name: "HTTPPageSource",
            dependencies: [
                "PageModel",
                "PagedRepository",
                .product(name: "AsyncHTTPClient", package: "async-http-client", condition: .when(traits: ["HTTP"])),
                .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["HTTP"])),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: .when(traits: ["HTTP"])),
                .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["HTTP"])),
                .product(name: "NIOHTTPCompression", package: "swift-nio-extras", condition: .when(traits: ["HTTP"])),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["HTTP"])),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "DemoOrigin",
            dependencies: [
                .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["Tool"])),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: .when(traits: ["Tool"])),
                .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["Tool"])),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "pagecache",
            dependencies: [
                "PageModel", "PageStore", "PostgresPageStore", "PagedRepository", "HTTPPageSource", "DemoOrigin",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ArgumentParser", package: "swift-argument-parser", condition: .when(traits: ["Tool"])),
                .product(name: "Subprocess", package: "swift-subprocess", condition: .when(traits: ["Tool"])),
                .product(name: "SystemPackage", package: "swift-system", condition: .when(traits: ["Tool"])),
            ],
            swiftSettings: settings,
            // Dependencies name all of Foundation and use none of what FoundationEssentials lacks. To load it, with the
            // data of ICU, takes longer than all else that the tool does before its first word. A
            // package that depends on this one by version cannot use targets with unsafe flags, so the libraries have none.
            linkerSettings: [.unsafeFlags(["-Xlinker", "--as-needed"], .when(platforms: [.linux]))]
        ),
        .testTarget(name: "PageModelTests", dependencies: ["PageModel"], swiftSettings: settings),
        .target(name: "FaultVFS", dependencies: ["CSQLite"], path: "Tests/FaultVFS"),
        .target(
            name: "StorageSupport",
            dependencies: ["PageModel", "PageStore", "PostgresPageStore", "PagedRepositoryTesting"],
            path: "Tests/StorageSupport",
            swiftSettings: settings
        ),
        .testTarget(
            name: "PageStorageTests",
            dependencies: ["PageModel", "PageStore", "PostgresPageStore", "PagedRepositoryTesting", "StorageSupport"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PostgresPageStoreTests",
            dependencies: [
                "PageModel", "PageStore", "PostgresPageStore", "PagedRepository", "PagedRepositoryTesting",
                "StorageSupport", "StoreWorker", "ProgramSupport",
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "StoreWorker",
            dependencies: ["PageModel", "PageStore", "PostgresPageStore", "FaultVFS"],
            path: "Tests/StoreWorker",
            swiftSettings: settings
        ),
        .testTarget(
            name: "PageStoreTests",
            dependencies: [
                "CSQLite", "PageModel", "PageStore", "PagedRepository", "PagedRepositoryTesting", "FaultVFS",
                "StorageSupport", "StoreWorker",
                "ProgramSupport",
            ],
            swiftSettings: settings
        ),
        .target(
            name: "Simulation",
            dependencies: ["PageModel", "PageStore", "PagedRepository", "PagedRepositoryTesting", "StorageSupport"],
            path: "Tests/Simulation",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "Simulator",
            dependencies: ["PagedRepositoryTesting", "Simulation"],
            path: "Tests/Simulator",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "FetchOnly",
            dependencies: ["HTTPPageSource", "PagedRepository"],
            path: "Tests/FetchOnly",
            swiftSettings: settings
        ),
        .testTarget(
            name: "SimulationTests",
            dependencies: ["Simulation", "StorageSupport"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PagedRepositoryTests",
            dependencies: [
                "PageModel", "PageStore", "PagedRepository", "PagedRepositoryTesting", "StorageSupport",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(
                    name: "ServiceLifecycle", package: "swift-service-lifecycle",
                    condition: .when(traits: ["ServiceLifecycle"])),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HTTPPageSourceTests",
            dependencies: ["PageModel", "PagedRepository", "PagedRepositoryTesting", "HTTPPageSource"],
            swiftSettings: settings
        ),
        .target(
            name: "ProgramSupport",
            dependencies: [
                .product(name: "Subprocess", package: "swift-subprocess", condition: .when(traits: ["Tool"])),
                .product(name: "SystemPackage", package: "swift-system", condition: .when(traits: ["Tool"])),
            ],
            path: "Tests/ProgramSupport",
            swiftSettings: settings
        ),
        .target(
            name: "ToolSupport",
            dependencies: ["DemoOrigin", "ProgramSupport", "StorageSupport"],
            path: "Tests/ToolSupport",
            swiftSettings: settings
        ),
        .testTarget(
            name: "ToolTests",
            dependencies: [
                "pagecache", "PageModel", "PageStore", "PagedRepository", "HTTPPageSource", "PagedRepositoryTesting",
                "DemoOrigin", "ToolSupport", "ProgramSupport", "StorageSupport",
            ],
            exclude: ["Snapshots"],
            swiftSettings: settings
        ),
        .target(
            name: "HostileOrigin",
            dependencies: [
                .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["HTTP"])),
                .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["HTTP"])),
            ],
            path: "Tests/HostileOrigin",
            swiftSettings: settings
        ),
        .testTarget(
            name: "HostileOriginTests",
            dependencies: [
                "pagecache", "PageModel", "PageStore", "PagedRepository", "PagedRepositoryTesting", "HTTPPageSource",
                "HostileOrigin",
                "ToolSupport", "ProgramSupport", "StorageSupport",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "OriginTests",
            dependencies: [
                "pagecache", "PageModel", "PageStore", "PagedRepository", "HTTPPageSource", "ToolSupport",
                "ProgramSupport",
                "StorageSupport",
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
