// swift-tools-version: 6.2

import PackageDescription

// Programs that embed the library and nothing else. `Scripts/embed-only` builds and runs them, and looks at what they
// resolved: logging and metrics, no HTTP client, no server, no argument parser.
let library: Target.Dependency = .product(name: "PagedRepository", package: "pagecache")
let package = Package(
    name: "EmbedOnly",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "pagecache", path: "../../..", traits: [])],
    targets: [
        .executableTarget(name: "EmbedOnly", dependencies: [library]),
        .executableTarget(name: "Hello", dependencies: [library]),
    ],
    swiftLanguageModes: [.v6]
)
