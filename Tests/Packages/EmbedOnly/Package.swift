// swift-tools-version: 6.2

import PackageDescription

// A program that embeds the store and the repository and nothing else. `Scripts/embed-only` builds and runs it, and
// looks at what it resolved: logging and metrics, no HTTP client, no server, no argument parser.
let package = Package(
    name: "EmbedOnly",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "pagecache", path: "../../..", traits: [])],
    targets: [
        .executableTarget(
            name: "EmbedOnly",
            dependencies: [
                .product(name: "PageStore", package: "pagecache"),
                .product(name: "PagedRepository", package: "pagecache"),
            ])
    ],
    swiftLanguageModes: [.v6]
)
