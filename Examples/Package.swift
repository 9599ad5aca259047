// swift-tools-version: 6.2

import PackageDescription

// Programs that use only the public API. README.md describes each of them. `Scripts/examples` builds and runs them;
// `Scripts/snippets` compares `Snippets` with the pages that show them.
let strict = Context.environment["PAGECACHE_STRICT"] == "1"
let settings: [SwiftSetting] = strict ? [.treatAllWarnings(as: .error)] : []

// The only product that a program needs if it does not fetch its pages over HTTP.
let library: [Target.Dependency] = [.product(name: "PagedRepository", package: "pagecache")]
let testing: Target.Dependency = .product(name: "PagedRepositoryTesting", package: "pagecache")
let postgres: Target.Dependency = .product(name: "PostgresPageStore", package: "pagecache")
let http: Target.Dependency = .product(name: "HTTPPageSource", package: "pagecache")
let server: Target.Dependency = .product(name: "Hummingbird", package: "hummingbird")

let package = Package(
    name: "Examples",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "pagecache", path: "..", traits: ["HTTP", "PostgreSQL", "ServiceLifecycle"]),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-metrics.git", from: "2.5.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.6.0"),
        .package(url: "https://github.com/apple/swift-crypto.git", from: "3.0.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.20.0", traits: []),
    ],
    targets: [
        .executableTarget(name: "Embed", dependencies: library, swiftSettings: settings),
        .executableTarget(
            name: "GettingStarted",
            dependencies: library + [.product(name: "Crypto", package: "swift-crypto")],
            swiftSettings: settings
        ),
        .executableTarget(name: "Crawler", dependencies: library + [http], swiftSettings: settings),
        .executableTarget(
            name: "OfflineService",
            dependencies: library + [
                http, postgres, server,
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(name: "Upstream", dependencies: [server], swiftSettings: settings),
        .target(
            name: "Snippets",
            dependencies: library + [http, postgres, testing],
            swiftSettings: settings
        ),
        .target(name: "Ports", dependencies: library, swiftSettings: settings),
        .testTarget(name: "SnippetsTests", dependencies: library + [testing, "Snippets"], swiftSettings: settings),
        .testTarget(name: "PortsTests", dependencies: library + [testing, "Ports"], swiftSettings: settings),
        .testTarget(
            name: "GettingStartedTests", dependencies: library + [testing, "GettingStarted"], swiftSettings: settings),
        .testTarget(
            name: "OfflineServiceTests",
            dependencies: library + [
                testing, server, "OfflineService", .product(name: "HummingbirdTesting", package: "hummingbird"),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
