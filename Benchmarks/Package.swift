// swift-tools-version: 6.2

import PackageDescription

// As in the product's own package.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

// A package of its own, so that nothing in here is ever a dependency of the product.
let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "pagecache", path: "..", traits: ["PostgreSQL"]),
        .package(url: "https://github.com/groue/GRDB.swift.git", exact: "7.10.0"),
    ],
    targets: [
        .target(name: "SQLiteLimit", linkerSettings: [.linkedLibrary("sqlite3")]),
        .target(name: "Counting"),
        .target(name: "Measuring", swiftSettings: settings),
        .target(
            name: "SideBySide",
            dependencies: [
                "Measuring", "SQLiteLimit",
                .product(name: "PageModel", package: "pagecache"),
                .product(name: "PageStore", package: "pagecache"),
            ],
            swiftSettings: settings),
        .executableTarget(
            name: "Costs",
            dependencies: [
                "Counting", "Measuring", "SQLiteLimit", "SideBySide",
                .product(name: "PageModel", package: "pagecache"),
                .product(name: "PageStore", package: "pagecache"),
            ],
            swiftSettings: settings),
        .executableTarget(name: "ColdLimit", dependencies: ["SQLiteLimit"]),
        .executableTarget(name: "StoringLimit", dependencies: ["SQLiteLimit"]),
        .executableTarget(
            name: "ColdStore",
            dependencies: [
                .product(name: "PageModel", package: "pagecache"),
                .product(name: "PageStore", package: "pagecache"),
            ],
            swiftSettings: settings),
        .executableTarget(
            name: "StoreBenchmark",
            dependencies: [
                "Measuring", "SQLiteLimit", "SideBySide",
                .product(name: "PageModel", package: "pagecache"),
                .product(name: "PageStore", package: "pagecache"),
            ],
            swiftSettings: settings),
        .executableTarget(
            name: "RepositoryBenchmark",
            dependencies: [
                "Measuring",
                .product(name: "PageModel", package: "pagecache"),
                .product(name: "PageStore", package: "pagecache"),
                .product(name: "PagedRepository", package: "pagecache"),
            ],
            swiftSettings: settings),
        .executableTarget(
            name: "SplitBenchmark",
            dependencies: [
                "Measuring",
                .product(name: "HTTPPageSource", package: "pagecache"),
                .product(name: "PageModel", package: "pagecache"),
            ],
            swiftSettings: settings),
        .executableTarget(
            name: "FleetBenchmark",
            dependencies: [
                "Measuring", "SideBySide",
                .product(name: "PageStore", package: "pagecache"),
                .product(name: "PostgresPageStore", package: "pagecache"),
            ],
            swiftSettings: settings),
        .executableTarget(
            name: "GRDBPeer",
            dependencies: [
                "Measuring",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
