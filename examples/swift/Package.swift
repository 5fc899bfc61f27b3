// swift-tools-version: 6.2
import PackageDescription

// The sources of TokenKeep. An installed example lies elsewhere: TOKENKEEP_SOURCES=… swift run
let sources = Context.environment["TOKENKEEP_SOURCES"] ?? "../.."

let package = Package(
    name: "TokenExample",
    dependencies: [
        // In a program of your own: .package(url: "https://…/TokenKeep.git", branch: "main")
        .package(name: "TokenKeep", path: sources)
    ],
    targets: [
        .executableTarget(name: "TokenExample", dependencies: [.product(name: "TokenKeep", package: "TokenKeep")])
    ]
)
