// swift-tools-version: 6.2

import PackageDescription

// Programs that use the public API and nothing else. `Scripts/examples` builds them and runs `Embed`; `Scripts/snippets`
// compares `Snippets` with the pages that show them.
let strict = Context.environment["PAGECACHE_STRICT"] == "1"
let settings: [SwiftSetting] = strict ? [.treatAllWarnings(as: .error)] : []
let library: [Target.Dependency] = [
    .product(name: "PageModel", package: "pagecache"),
    .product(name: "PageStore", package: "pagecache"),
    .product(name: "PagedRepository", package: "pagecache"),
]

let package = Package(
    name: "Examples",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "pagecache", path: "..", traits: [])],
    targets: [
        .executableTarget(name: "Embed", dependencies: library, swiftSettings: settings),
        .target(name: "Snippets", dependencies: library, swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
