// swift-tools-version: 6.2
import Glibc
import PackageDescription

let strict: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("InternalImportsByDefault"),
]
let strictC: [CSetting] = [
    .treatAllWarnings(as: .error),
    .enableWarning("all"),
    .enableWarning("extra"),
    // Calls of the C library check the bounds of their buffers. Without optimisation it has no effect.
    .define("_FORTIFY_SOURCE", to: "2", .when(configuration: .release)),
]
// Where modules are looked for that a stack calls by their names: the build for an installation says it.
let moduleDirectory =
    Context.environment["TOKENKEEP_MODULE_DIRECTORY"] ?? "/usr/local/lib/tokenkeep/modules"
let modulesFromProgram =
    Context.environment["TOKENKEEP_MODULES_FROM_PROGRAM"] ?? "../lib/tokenkeep/modules"
let providersFromModules =
    Context.environment["TOKENKEEP_PROVIDERS_FROM_MODULES"] ?? "../../../share/tokenkeep/providers.d"
let tpm2FromModules =
    Context.environment["TOKENKEEP_TPM2_FROM_MODULES"] ?? "../../../libexec/tokenkeep/tokenkeep-tpm2"
let agentFromProgram =
    Context.environment["TOKENKEEP_AGENT_FROM_PROGRAM"] ?? "../libexec/tokenkeep/tokenkeep-agent"
// The libraries of which the build for an installation links archives, so that no start of a program loads them: `argon2,jansson`.
let archives = (Context.environment["TOKENKEEP_ARCHIVES"] ?? "").split(separator: ",").map(String.init)
func linked(_ name: String) -> LinkerSetting { .linkedLibrary(archives.contains(name) ? ":lib\(name).a" : name) }
let httpTypes = TargetDependencyCondition.when(traits: ["HTTPTypes"])
let system: Target.Dependency = .product(name: "SystemPackage", package: "swift-system")

// The packages of others: a release's tarball has them in `vendor`, for builds without a network.
func dependency(_ name: String, from version: Version) -> Package.Dependency {
    let vendored = "\(Context.packageDirectory)/vendor/\(name)"
    if access("\(vendored)/Package.swift", R_OK) == 0 { return .package(path: vendored) }
    return .package(url: "https://github.com/apple/\(name)", from: version)
}

let package = Package(
    name: "TokenKeep",
    products: [
        .library(name: "TokenKeep", targets: ["TokenKeep"]),
        .library(name: "TokenKeepFoundation", targets: ["TokenKeepFoundation"]),
        .library(name: "TokenKeepC", type: .static, targets: ["TokenKeepC"]),
    ],
    // A package that does not enable the trait does not fetch swift-http-types.
    traits: [
        .trait(name: "HTTPTypes", description: "SessionClient sends requests of swift-http-types")
    ],
    dependencies: [
        dependency("swift-system", from: "1.8.1"),
        dependency("swift-http-types", from: "1.8.0"),
    ],
    targets: [
        // The public header and its layout checks; libraries of the system; what Swift's Glibc lacks.
        .target(
            name: "TokenKeepHeaders", path: ".", sources: ["Sources/TokenKeepHeaders"], publicHeadersPath: "include",
            cSettings: strictC),
        .systemLibrary(
            name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
        .target(
            name: "CSystemShims",
            cSettings: strictC + [
                .define("TOKENKEEP_MODULE_DIRECTORY", to: "\"\(moduleDirectory)\""),
                .define("TOKENKEEP_MODULES_FROM_PROGRAM", to: "\"\(modulesFromProgram)\""),
                .define("TOKENKEEP_PROVIDERS_FROM_MODULES", to: "\"\(providersFromModules)\""),
                .define("TOKENKEEP_TPM2_FROM_MODULES", to: "\"\(tpm2FromModules)\""),
                .define("TOKENKEEP_AGENT_FROM_PROGRAM", to: "\"\(agentFromProgram)\""),
            ],
            linkerSettings: [linked("argon2")]),
        .target(name: "CLibsecret", cSettings: strictC),
        .target(name: "CCurl", dependencies: ["CSystemShims"], cSettings: strictC),
        .target(name: "CFleetLink", dependencies: ["CCurl", "CSystemShims"], cSettings: strictC),
        .target(name: "CJansson", cSettings: strictC, linkerSettings: [linked("jansson")]),

        // The floors: a target imports lower ones only.
        .target(name: "TokenKeepCore", dependencies: ["CSodium", "CSystemShims", system], swiftSettings: strict),
        .target(
            name: "TokenKeepKeys", dependencies: ["TokenKeepCore", "CJansson", "CSodium", "CSystemShims", system],
            swiftSettings: strict),
        .target(
            name: "TokenKeepSecretService", dependencies: ["TokenKeepCore", "CLibsecret", "CSystemShims"],
            swiftSettings: strict),
        .target(
            name: "TokenKeepPlugin", dependencies: ["TokenKeepCore", "TokenKeepHeaders", "CSodium", "CSystemShims"],
            swiftSettings: strict),
        .target(
            name: "TokenKeepRecords",
            dependencies: ["TokenKeepCore", "TokenKeepKeys", "CSodium", "CSystemShims", system],
            swiftSettings: strict),
        .target(
            name: "TokenKeepEngine",
            dependencies: [
                "TokenKeepCore", "TokenKeepKeys", "TokenKeepRecords", "TokenKeepSecretService", "TokenKeepPlugin",
                "CSystemShims", system,
            ],
            swiftSettings: strict),
        .target(
            name: "TokenKeepSession",
            dependencies: ["TokenKeepCore", "TokenKeepKeys", "TokenKeepRecords", "TokenKeepEngine", "CJansson"],
            swiftSettings: strict),
        .target(
            name: "TokenKeepOAuth",
            dependencies: ["TokenKeepCore", "TokenKeepEngine", "TokenKeepSession", "CCurl", "CSodium", "CSystemShims"],
            swiftSettings: strict),
        .target(
            name: "TokenKeep",
            dependencies: [
                "TokenKeepCore", "TokenKeepEngine", "TokenKeepKeys", "TokenKeepSession", "TokenKeepOAuth",
                "CSystemShims",
            ],
            swiftSettings: strict),
        // Foundation's part, for applications: the products above and below do not link it.
        .target(
            name: "TokenKeepFoundation",
            dependencies: [
                "TokenKeepCore", "TokenKeepKeys", "TokenKeepRecords", "TokenKeepEngine", "TokenKeepSession",
                "TokenKeep",
                .product(name: "HTTPTypes", package: "swift-http-types", condition: httpTypes),
                .product(name: "HTTPTypesFoundation", package: "swift-http-types", condition: httpTypes),
            ],
            swiftSettings: strict),
        .target(
            name: "TokenKeepC",
            dependencies: [
                "TokenKeepHeaders", "TokenKeepCore", "TokenKeepEngine", "TokenKeepSession", "TokenKeepOAuth",
                "CSystemShims",
            ],
            swiftSettings: strict),
        // The registry of sessions over machines, for the program: the library does not link it.
        .target(
            name: "TokenKeepFleet",
            dependencies: [
                "TokenKeepCore", "TokenKeepKeys", "TokenKeepEngine", "TokenKeepSession", "TokenKeepOAuth",
                "CFleetLink", "CJansson", "CSodium", "CSystemShims",
            ],
            swiftSettings: strict),
        // What the programs share: terminal, passwords, exit codes. The library does not link it.
        .target(
            name: "TokenKeepTerminal", dependencies: ["TokenKeepCore", "TokenKeepKeys", "CSystemShims"],
            swiftSettings: strict),
        // What every module must do: for the program and the tests, not for the library.
        .target(name: "TokenKeepConformance", dependencies: ["TokenKeepCore"], swiftSettings: strict),

        // The page of the clock that tests move, for the tests' own process.
        .target(
            name: "CTestClock", path: "Tests/Support/Clock", exclude: ["preload.c", "tool.c", "run.sh"],
            sources: ["page.c"], cSettings: strictC),
        .target(
            name: "TestSupport", dependencies: ["TokenKeepCore", "CSodium", "CTestClock"], path: "Tests/Support",
            exclude: [
                "Clock", "Stores", "credentials.py", "exchange.py", "forget_keys.py", "listening.py", "locks.py",
                "memory.py",
                "patience.py", "stall.py", "tests_clock.py",
            ],
            sources: [
                "TemporaryDirectory.swift", "LockHolder.swift", "ChildProcess.swift", "PrivateBus.swift",
                "PrivateKeyring.swift", "PrivateKeePassXC.swift", "BuiltModule.swift", "TestThread.swift",
                "NextSecond.swift", "Patience.swift", "TestClock.swift", "SeededNumbers.swift", "Mutation.swift",
                "ErrorText.swift", "FakeHelper.swift", "SoftwareTPM.swift", "UnixSocket.swift",
                "JSONWebToken.swift", "ReplacedVault.swift", "PatientDeadline.swift", "PassedLimit.swift",
                "KernelLocks.swift", "BusMonitor.swift", "StoppedKeyring.swift", "FakeSecretService.swift",
            ],
            swiftSettings: strict),
        // Stores as tests open them, for the tests of targets above the engine, too.
        .target(
            name: "StoreTestSupport",
            dependencies: ["TestSupport", "TokenKeepEngine", "TokenKeepRecords", "TokenKeepKeys", "TokenKeepCore"],
            path: "Tests/Support/Stores", swiftSettings: strict),
        .target(
            name: "FuzzTargets",
            dependencies: [
                "TokenKeepFleet", "TokenKeepFoundation", "TokenKeepOAuth", "TokenKeepSession", "TokenKeepRecords",
                "TokenKeepCore",
            ],
            path: "Tests/Fuzz/Targets", swiftSettings: strict),
        .testTarget(
            name: "TokenKeepCoreTests", dependencies: ["TokenKeepCore", "CSystemShims", "TestSupport"],
            path: "Tests/TokenKeepCore",
            swiftSettings: strict),
        .testTarget(
            name: "TokenKeepKeysTests",
            dependencies: ["TokenKeepKeys", "TokenKeepCore", "CSodium", "CSystemShims", "TestSupport"],
            path: "Tests/TokenKeepKeys", exclude: ["Fixtures"], swiftSettings: strict),
        .testTarget(
            name: "TokenKeepRecordsTests",
            dependencies: [
                "TokenKeepKeys", "TokenKeepRecords", "TokenKeepEngine", "TokenKeepCore", "StoreTestSupport",
                "TestSupport",
            ],
            path: "Tests/TokenKeepRecords", swiftSettings: strict),
        .testTarget(
            name: "TokenKeepSecretServiceTests",
            dependencies: ["TokenKeepSecretService", "TokenKeepCore", "CLibsecret", "TestSupport"],
            path: "Tests/TokenKeepSecretService", exclude: ["Fakes"], swiftSettings: strict),
        .testTarget(
            name: "TokenKeepPluginTests",
            dependencies: [
                "TokenKeepPlugin", "TokenKeepConformance", "TokenKeepEngine", "TokenKeepKeys", "TokenKeepRecords",
                "TokenKeepCore",
                "TestSupport",
            ],
            path: "Tests/TokenKeepPlugin", exclude: ["Fixtures"], swiftSettings: strict),
        .testTarget(
            name: "TokenKeepEngineTests",
            dependencies: [
                "TokenKeepEngine", "TokenKeepPlugin", "TokenKeepKeys", "TokenKeepRecords", "TokenKeepCore",
                "StoreTestSupport", "TestSupport",
            ],
            path: "Tests/TokenKeepEngine", swiftSettings: strict),
        .testTarget(
            name: "TokenKeepSessionTests",
            dependencies: [
                "TokenKeepSession", "TokenKeepEngine", "TokenKeepKeys", "TokenKeepRecords", "TokenKeepCore",
                "CSodium", "FuzzTargets", "StoreTestSupport", "TestSupport",
            ],
            path: "Tests/TokenKeepSession", swiftSettings: strict),
        .testTarget(
            name: "TokenKeepOAuthTests",
            dependencies: [
                "TokenKeepOAuth", "TokenKeepSession", "TokenKeepEngine", "TokenKeepKeys", "TokenKeepRecords",
                "TokenKeepCore", "CSodium", "TestSupport",
            ],
            path: "Tests/TokenKeepOAuth", swiftSettings: strict),
        .testTarget(
            name: "TokenKeepFleetTests",
            dependencies: ["TokenKeepFleet", "TokenKeepSession", "TokenKeepKeys", "TokenKeepCore", "TestSupport"],
            path: "Tests/TokenKeepFleet", swiftSettings: strict),
        .testTarget(
            name: "TokenKeepTests",
            dependencies: ["TokenKeep", "TokenKeepEngine", "TokenKeepKeys", "TokenKeepCore", "TestSupport"],
            path: "Tests/TokenKeep",
            swiftSettings: strict),
        .testTarget(
            name: "TokenKeepFoundationTests",
            dependencies: ["TokenKeepFoundation", "TokenKeep", "TokenKeepEngine", "TokenKeepCore", "TestSupport"],
            path: "Tests/TokenKeepFoundation", swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)

// `make fuzz` alone builds it: libFuzzer has its main function.
if Context.environment["TOKENKEEP_FUZZ"] == "1" {
    package.targets.append(
        .executableTarget(
            name: "tokenkeep-fuzz", dependencies: ["FuzzTargets"], path: "Tests/Fuzz/Driver", cSettings: strictC))
}

// The program alone uses swift-argument-parser: a package that depends on the library does not fetch it. A trait cannot
// do this: with the trait off, `swift build` here would still compile the program.
if Context.environment["TOKENKEEP_PROGRAM"] == "1" {
    // The build for an installation: 78 KB less. Nothing in the library prints a type's fields or an enum's case, and
    // swift-argument-parser, which needs such metadata, keeps its own. SwiftPM refuses such flags in a dependency.
    let small = SwiftSetting.unsafeFlags(
        ["-Xfrontend", "-disable-reflection-metadata"], .when(configuration: .release))
    for target in package.targets where target.type == .regular && target.swiftSettings != nil {
        target.swiftSettings?.append(small)
    }
    package.dependencies.append(dependency("swift-argument-parser", from: "1.8.2"))
    package.products.append(.executable(name: "tokenkeep", targets: ["TokenKeepCLI"]))
    package.targets.append(
        .executableTarget(
            name: "TokenKeepCLI",
            dependencies: [
                "TokenKeepCore", "TokenKeepPlugin", "TokenKeepSecretService", "TokenKeepKeys", "TokenKeepRecords",
                "TokenKeepEngine", "TokenKeepSession", "TokenKeepOAuth", "TokenKeepFleet", "TokenKeepConformance",
                "TokenKeepTerminal", "CSystemShims",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: strict))

    // Speaks the protocols of git, docker, cargo and others: starts fast, without swift-argument-parser and Foundation.
    package.products.append(.executable(name: "tokenkeep-credential", targets: ["TokenKeepCredential"]))
    package.targets.append(
        .executableTarget(
            name: "TokenKeepCredential",
            dependencies: [
                "TokenKeepCore", "TokenKeepEngine", "TokenKeepSession", "TokenKeepOAuth", "TokenKeepTerminal",
                "CSodium",
            ],
            swiftSettings: strict))
    // The provider of org.freedesktop.secrets. Without the headers of libsystemd and libgcrypt it is left out, with
    // `TOKENKEEP_PROVIDER` 0 too; 1 says that they are elsewhere than in /usr/include.
    let headers = ["systemd/sd-bus.h", "gcrypt.h"].map { "/usr/include/\($0)" }
    let provider = Context.environment["TOKENKEEP_PROVIDER"]
    if provider == "1" || provider == nil && headers.allSatisfy({ access($0, R_OK) == 0 }) {
        package.products.append(.executable(name: "tokenkeep-secret-service", targets: ["TokenKeepProvider"]))
        package.targets += [
            .target(name: "CSystemdBus", cSettings: strictC, linkerSettings: [.linkedLibrary("systemd")]),
            .target(name: "CGcrypt", cSettings: strictC, linkerSettings: [.linkedLibrary("gcrypt")]),
            .executableTarget(
                name: "TokenKeepProvider",
                dependencies: [
                    "TokenKeepCore", "TokenKeepKeys", "TokenKeepRecords", "TokenKeepEngine", "TokenKeepTerminal",
                    "CSystemdBus", "CGcrypt", "CSystemShims",
                ],
                swiftSettings: strict),
        ]
    }

    // Indirect jumps into C go to marked places alone.
    #if arch(x86_64)
        let marked = CSetting.unsafeFlags(["-fcf-protection"], .when(configuration: .release))
    #else
        let marked = CSetting.unsafeFlags(["-mbranch-protection=standard"], .when(configuration: .release))
    #endif
    for target in package.targets where target.cSettings != nil { target.cSettings?.append(marked) }

    // Programs of the tests and the benchmarks.
    package.targets += [
        .executableTarget(
            name: "tokenkeep-crowd", dependencies: ["TokenKeep"], path: "Tests/Servers/Crowd", swiftSettings: strict),
        .executableTarget(
            name: "tokenkeep-requests", dependencies: ["TokenKeepFoundation", "TokenKeep"],
            path: "Tests/Benchmarks/Requests", swiftSettings: strict),
    ]
    // Programs of others, which see what is public alone. They are packages of their own, too (`make test-swift-packages`); here
    // the library is not compiled for them once more.
    let strictest =
        strict + [.enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("MemberImportVisibility")]
    package.targets += [
        .target(
            name: "OtherLibrary", path: "Tests/Consumers/swift/Sources/OtherLibrary", packageAccess: false,
            swiftSettings: strictest),
        .executableTarget(
            name: "Application", dependencies: ["OtherLibrary", "TokenKeep"],
            path: "Tests/Consumers/swift/Sources/Application", packageAccess: false, swiftSettings: strictest),
        .executableTarget(
            name: "TokenExample", dependencies: ["TokenKeep"], path: "examples/swift/Sources/TokenExample",
            packageAccess: false),
        .executableTarget(
            name: "ApplicationExample", dependencies: ["TokenKeepFoundation", "TokenKeep"],
            path: "examples/application/Sources/ApplicationExample", packageAccess: false),
    ]
}
