// swift-tools-version: 6.2

import PackageDescription

// A package of its own, so that nothing in here is ever a dependency of the product.
let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "pagecache", path: "..", traits: [])],
    targets: [
        .target(name: "SQLiteLimit", linkerSettings: [.linkedLibrary("sqlite3")]),
        .target(name: "Measuring"),
        .executableTarget(
            name: "StoreBenchmark",
            dependencies: [
                "Measuring", "SQLiteLimit",
                .product(name: "PageModel", package: "pagecache"),
                .product(name: "PageStore", package: "pagecache"),
            ]),
        .executableTarget(
            name: "RepositoryBenchmark",
            dependencies: [
                "Measuring",
                .product(name: "PageModel", package: "pagecache"),
                .product(name: "PageStore", package: "pagecache"),
                .product(name: "PagedRepository", package: "pagecache"),
            ]),
        .executableTarget(
            name: "SplitBenchmark",
            dependencies: [
                "Measuring",
                .product(name: "HTTPPageSource", package: "pagecache"),
                .product(name: "PageModel", package: "pagecache"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
