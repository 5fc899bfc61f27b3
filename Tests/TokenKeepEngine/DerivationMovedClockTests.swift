import CSystemShims
import Foundation
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepEngine
@testable import TokenKeepKeys
@testable import TokenKeepRecords

/// A wait for a password's key ends with the time limit of its call.
///
/// The costs are high, so that the clock passes the limit while the key is derived.
@Suite(.serialized) struct DerivationMovedClockTests {
    private static let message = "the deadline passed while the password's key was derived"
    private let directory = TemporaryDirectory(inMemory: true)
    private var file: String { directory.path + "/export" }

    private func store(isLimited: Bool) throws -> Store {
        var configuration = StoreConfiguration(
            stackText: "any required vault", timeoutMilliseconds: Patience.milliseconds)
        configuration.vaultPath = directory.path + "/vault"
        configuration.residentKeys = ClassKeyStore(obstacle: "a test")
        configuration.passwordCosts = PasswordCosts(passes: 4, memoryKiB: 131_072)
        if isLimited {
            configuration.timeoutMilliseconds = 5_000
            configuration.longTimeoutMilliseconds = 5_000
        }
        return try Store(configuration)
    }

    /// Makes a call on a thread of its own, and sets the clock forward until the call has ended.
    ///
    /// - Returns: the error; nil if the call succeeded. A call that ended before its derivation is made again.
    private func passingTheLimit(
        _ call: @escaping @Sendable () throws(TokenKeepError) -> Void
    ) throws -> TokenKeepError? {
        var last: TokenKeepError?
        for _ in 0..<10 where last?.message != DerivationMovedClockTests.message {
            let outcome = MutexGuarded<Result<Void, TokenKeepError>?>(nil)
            Thread.detachNewThread {
                let result = Result(catching: call)
                outcome.withLock { $0 = result }
            }
            func hasEnded() throws -> Bool {
                try TestClock.advance(seconds: 10)
                return outcome.withLock { $0 != nil }
            }
            while try !Patience.wait(until: hasEnded) {}
            // Others count the derivations that were given up.
            #expect(Patience.wait { tokenkeep_abandoned_derivations() == 0 })
            guard case .failure(let error) = outcome.withLock({ $0 }) else { return nil }
            last = error
        }
        return last
    }

    private func expectTimedOut(_ error: TokenKeepError?) {
        #expect(error?.status == .timedOut)
        #expect(error?.message == DerivationMovedClockTests.message)
    }

    @Test func aFirstPassword() throws {
        let store = try store(isLimited: true)
        expectTimedOut(
            try passingTheLimit { () throws(TokenKeepError) in _ = try store.passwords.set(SecretBytes("new")) })
        #expect(try store.records.open()?.keys.header.hasPassword == false)
    }

    @Test func anUnlockAfterOneThatWasGivenUp() throws {
        _ = try self.store(isLimited: false).passwords.set(SecretBytes("new"))
        let store = try store(isLimited: true)
        for _ in 0..<2 {
            expectTimedOut(
                try passingTheLimit { () throws(TokenKeepError) in
                    _ = try store.unlock(SecretBytes("new"), until: store.longDeadline)
                })
        }
        #expect(throws: Never.self) { try self.store(isLimited: false).unlock(SecretBytes("new")) }
    }

    @Test func anExport() throws {
        let (store, file) = (try store(isLimited: true), file)
        expectTimedOut(
            try passingTheLimit { () throws(TokenKeepError) in
                _ = try store.transfer.export(to: file, passphrase: SecretBytes("passphrase"))
            })
        #expect(!FileManager.default.fileExists(atPath: file))
    }

    @Test func anImport() throws {
        _ = try self.store(isLimited: false).transfer.export(to: file, passphrase: SecretBytes("passphrase"))
        let (store, file) = (try store(isLimited: true), file)
        expectTimedOut(
            try passingTheLimit { () throws(TokenKeepError) in
                _ = try store.transfer.import(from: file, passphrase: SecretBytes("passphrase"))
            })
    }
}
