// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "TokenExample",
    dependencies: [
        // In a program of your own: .package(url: "…", from: "0.1.0")
        .package(name: "TokenKeep", path: "../..")
    ],
    targets: [
        .executableTarget(name: "TokenExample", dependencies: [.product(name: "TokenKeep", package: "TokenKeep")])
    ]
)
