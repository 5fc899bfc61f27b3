import Foundation
import TestSupport
import Testing
import TokenKeepConformance
import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

@testable import TokenKeepEngine
@testable import TokenKeepPlugin

/// One suite for all modules, whosever they are.
@Suite struct ConformanceTests {
    private let directory = TemporaryDirectory()

    /// Runs all cases; returns those that say nothing of the module.
    private func check(_ module: any Module, keepsMetadata: Bool = true, timeout: UInt32 = 120_000) -> [String] {
        var skipped: [String] = []
        Conformance(module, keepsMetadata: keepsMetadata, timeoutMilliseconds: timeout).run { name, outcome in
            switch outcome {
            case .passed: break
            case .failed(let why): Issue.record("\(module.name): \(name): \(why)")
            case .skipped: skipped.append(name)
            }
        }
        return skipped
    }

    private func own(_ name: String, busAddress: String? = nil) throws -> any Module {
        var configuration = StoreConfiguration()
        configuration.vaultPath = directory.path + "/vault"
        configuration.busAddress = busAddress
        return try ModuleCatalog.module(name, arguments: [], configuration: configuration).module
    }

    @Test func vault() throws { #expect(check(try own("vault")) == []) }

    @Test func memory() throws { #expect(check(try own("memory")) == []) }

    @Test func secretService() throws {
        let keyring = try PrivateKeyring()
        #expect(check(try own("secret-service", busAddress: keyring.bus.address)) == [])
    }

    @Test func fixture() throws {
        let built = try BuiltModule("Tests/TokenKeepPlugin/Fixtures/fixture.c", name: "fixture")
        #expect(check(try ModuleCatalog.module(built.path, arguments: []).module) == [])
    }

    @Test func keyctl() throws {
        let built = try BuiltModule.keyctl()
        #expect(check(try ModuleCatalog.module(built.path, arguments: ["ring=\(UUID())"]).module) == [])
    }

    @Test func pass() throws {
        let store = try PrivatePasswordStore()
        setenv("PASSWORD_STORE_DIR", store.path, 1)
        setenv("GNUPGHOME", store.gpgHome, 1)
        let path = BuiltModule.root + "/examples/plugin/pass.py"
        let (module, capabilities) = try ModuleCatalog.module(
            path, arguments: ["env=PASSWORD_STORE_DIR", "env=GNUPGHOME"],
            configuration: StoreConfiguration(timeoutMilliseconds: Patience.milliseconds))
        #expect(capabilities?.contains([.keepsMetadata, .saves, .lists]) == true)
        #expect(check(module) == [])
    }

    /// A module for reading: what does not save does not apply, and nothing else fails.
    @Test func environment() throws {
        directory.write(Array("s3cr3t".utf8), to: "credentials/example.com")
        setenv("TOKENKEEP_TEST_TOKEN", "a token\n", 1)
        setenv("CREDENTIALS_DIRECTORY", directory.path + "/credentials", 1)
        let path = BuiltModule.root + "/examples/plugin/environment.sh"
        let module = try ModuleCatalog.module(
            path,
            arguments: [
                "env=TOKENKEEP_TEST_TOKEN", "github.com/ci=TOKENKEEP_TEST_TOKEN", "a%2Fb/c=TOKENKEEP_TEST_TOKEN",
                "env=CREDENTIALS_DIRECTORY",
            ]
        ).module
        #expect(check(module, keepsMetadata: false).count == 15)
        func load(_ service: String, _ account: String) throws -> String? {
            try module.load(
                ItemName(service: service, account: account),
                CallContext(deadline: Deadline(milliseconds: Patience.milliseconds))
            ).secret.utf8String
        }
        #expect(try load("github.com", "ci") == "a token\n")
        #expect(try load("a/b", "c") == "a token\n")
        #expect(try load("example.com", "") == "s3cr3t")
        for (service, account) in [
            ("github.com", ""), ("a", "b/c"), ("a/b/c", ""), ("github.com/ci", ""), ("example.com", "ann"),
            ("HOME", ""), ("..", ""), ("../x", ""),
        ] {
            #expect(throws: TokenKeepError(.notFound, "")) { try load(service, account) }
        }
    }

    /// The suite finds what is wrong: a module that forgets, one that mixes items up.
    @Test func whatIsWrongIsFound() throws {
        let old = try BuiltModule("Tests/TokenKeepPlugin/Fixtures/old.c", name: "old")
        var failed: [String] = []
        Conformance(try ModuleCatalog.module(old.path, arguments: []).module, keepsMetadata: true).run {
            name, outcome in
            if case .failed = outcome { failed.append(name) }
        }
        #expect(failed.contains("names are told apart byte by byte"))
        #expect(failed.contains("metadata comes back"))
        #expect(!failed.contains("a saved secret is loaded"))
    }

    /// A module without metadata is held to what it does keep.
    @Test func aModuleWithoutMetadataKeepsItsPromises() throws {
        let old = try BuiltModule("Tests/TokenKeepPlugin/Fixtures/old.c", name: "old")
        Conformance(try ModuleCatalog.module(old.path, arguments: []).module, keepsMetadata: false).run {
            name, outcome in
            switch (name, outcome) {
            case ("a save tells the version of what comes back", .passed), ("metadata comes back", .skipped): break
            case ("a save tells the version of what comes back", _), ("metadata comes back", _):
                Issue.record("\(name): \(outcome)")
            default: break
            }
        }
    }

    /// Whatever a module answers, the suite says so and ends.
    @Test(arguments: ["status", "nothing", "label", "other", "quotes"])
    func whatAnswersWronglyFails(fault: String) throws {
        let built = try BuiltModule("Tests/TokenKeepPlugin/Fixtures/fixture.c", name: "fixture")
        let module = try ModuleCatalog.module(built.path, arguments: ["fault=" + fault]).module
        var failed = 0
        Conformance(module, keepsMetadata: true).run { _, outcome in
            if case .failed = outcome { failed += 1 }
        }
        #expect(failed > 10)
    }

    /// The kernel's quota holds other keys too: the example takes no more than its part.
    @Test func keyctlKeepsToItsBudget() throws {
        let ring = "\(UUID())"
        let built = try BuiltModule.keyctl()
        let module = try ModuleCatalog.module(built.path, arguments: ["ring=\(ring)"]).module
        let call = CallContext(deadline: Deadline(milliseconds: Patience.milliseconds))
        var kept: [ItemName] = []
        var refusal: TokenKeepError?
        for number in 0..<10 where refusal == nil {
            let name = try ItemName(service: "budget", account: "\(number)")
            let request = try SaveRequest(name: name, secret: SecretBytes(randomCount: 2000))
            do throws(TokenKeepError) {
                _ = try module.save(request, call)
                kept.append(name)
            } catch { refusal = error }
        }
        #expect(refusal?.status == .unavailable)
        #expect(kept.count <= 4, "tests beside this one keep keys there, too")
        for name in kept { #expect(try module.clear(name, ifVersion: nil, call)) }
    }
}

/// A password store with a key of its own, without a passphrase.
private final class PrivatePasswordStore {
    private let directory = TemporaryDirectory()
    var path: String { directory.path + "/store" }
    var gpgHome: String { directory.path + "/gpg" }

    init() throws {
        directory.write([], to: "gpg/empty")
        let environment = ["GNUPGHOME": gpgHome, "PASSWORD_STORE_DIR": path, "HOME": directory.path]
        for (program, arguments) in [
            (
                "gpg",
                [
                    "--batch", "--quiet", "--passphrase", "", "--quick-generate-key", "test@example.com", "default",
                    "default", "never",
                ]
            ),
            ("pass", ["init", "test@example.com"]),
        ] {
            let (output, status) = try ChildProcess.run("/usr/bin/" + program, arguments, environment: environment)
            guard status == 0 else { throw TokenKeepError(.io, "\(program): \(output)") }
        }
    }

    deinit {
        _ = try? ChildProcess.run(
            "/usr/bin/gpgconf", ["--kill", "all"], environment: ["GNUPGHOME": gpgHome, "HOME": directory.path])
    }
}
