// swift-tools-version: 6.2
import PackageDescription

// The sources of TokenKeep. An installed example lies elsewhere: TOKENKEEP_SOURCES=… swift run
let sources = Context.environment["TOKENKEEP_SOURCES"] ?? "../.."

let package = Package(
    name: "RequestExamples",
    dependencies: [
        // In a program of your own: .package(url: "https://…/TokenKeep.git", branch: "main", traits: ["HTTPTypes"])
        .package(name: "TokenKeep", path: sources, traits: ["HTTPTypes"]),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    ],
    targets: [
        .executableTarget(
            name: "AsyncHTTPClientExample",
            dependencies: [
                .product(name: "TokenKeep", package: "TokenKeep"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
            ]),
        .executableTarget(
            name: "WebSocketExample",
            dependencies: [
                .product(name: "TokenKeepFoundation", package: "TokenKeep"),
                .product(name: "TokenKeep", package: "TokenKeep"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
            ]),
        .executableTarget(
            name: "HTTPTypesExample",
            dependencies: [
                .product(name: "TokenKeepFoundation", package: "TokenKeep"),
                .product(name: "TokenKeep", package: "TokenKeep"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]),
    ]
)
