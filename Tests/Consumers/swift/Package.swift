// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "Consumer",
    dependencies: [
        .package(name: "TokenKeep", path: "../../..")  // run.sh puts a URL in the place of this line
    ],
    targets: [
        .target(name: "OtherLibrary", swiftSettings: strict),
        .executableTarget(
            name: "Application",
            dependencies: ["OtherLibrary", .product(name: "TokenKeep", package: "TokenKeep")],
            swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
