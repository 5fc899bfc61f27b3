import CSystemShims
import Glibc
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepKeys

/// Tests of this target that measure memory or abandon threads: one at a time.
@Suite(.serialized) enum AloneTests {}

extension AloneTests {
    /// Derivations of keys from passwords.
    @Suite struct PasswordDerivationTests {
        private let salt = Array("salt of 16 bytes".utf8)
        /// About a second.
        private var long: KeyDerivation { .argon2id(passes: 16, memoryKiB: 65_536, salt: salt) }
        private var short: KeyDerivation { .argon2id(passes: 1, memoryKiB: 8192, salt: salt) }

        private func call(_ milliseconds: UInt32 = 60_000, _ cancellation: Cancellation? = nil) -> CallContext {
            CallContext(deadline: Deadline(milliseconds: milliseconds, cancellation: cancellation))
        }

        private func derive(_ derivation: KeyDerivation, _ call: CallContext) throws(TokenKeepError) -> DerivedKey {
            try PasswordDerivation.key(of: try SecretBytes("password"), by: derivation, call)
        }

        private func waitUntilNoneIsAbandoned() { while tokenkeep_abandoned_derivations() > 0 { usleep(1000) } }

        @Test(arguments: [1, 7, 32, 4096]) func theKeyIsThatOfLibsodium(length: Int) throws {
            let password = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ 1) }
            for (passes, memoryKiB) in [(1, 8192), (3, 8192), (2, 65_536)] as [(UInt32, UInt32)] {
                let derived = try PasswordDerivation.key(
                    of: SecretBytes(bytes: password), by: .argon2id(passes: passes, memoryKiB: memoryKiB, salt: salt),
                    call())
                let expected = Libsodium.argon2id(password, salt, passes, memoryKiB)
                #expect(try derived.wrapping == SecretBytes(bytes: expected[..<32]))
                #expect(derived.commitment == Array(expected[32...]))
            }
        }

        @Test func aDeadlineEndsTheCallAndTheMemoryIsGivenBack() throws {
            let before = ResidentMemory.kib
            #expect(throws: TokenKeepError(.timedOut, "")) {
                try derive(.argon2id(passes: 2, memoryKiB: 1 << 20, salt: salt), call(100))
            }
            #expect(tokenkeep_abandoned_derivations() == 1)
            waitUntilNoneIsAbandoned()
            #expect(ResidentMemory.kib < before + 100_000)
        }

        @Test func aCancellationEndsTheCall() throws {
            let cancellation = Cancellation()
            let thread = TestThread {
                usleep(50_000)
                cancellation.cancel()
            }
            #expect(throws: TokenKeepError(.cancelled, "")) { try derive(long, call(60_000, cancellation)) }
            #expect(tokenkeep_abandoned_derivations() == 1)
            thread.join()
            #expect(throws: TokenKeepError(.cancelled, "")) { try derive(short, call(60_000, cancellation)) }
            waitUntilNoneIsAbandoned()
        }

        @Test func fourAbandonedDerivationsKeepAFifthFromStarting() throws {
            for _ in 1...4 {
                #expect(throws: TokenKeepError(.timedOut, "")) { try derive(long, call(20)) }
            }
            #expect(tokenkeep_abandoned_derivations() == 4)
            #expect(throws: TokenKeepError(.timedOut, "")) { try derive(short, call(20)) }
            #expect(tokenkeep_abandoned_derivations() == 4)
            // With time enough it waits for one of them.
            #expect(throws: Never.self) { try derive(short, call()) }
            #expect(tokenkeep_abandoned_derivations() < 4)
            waitUntilNoneIsAbandoned()
        }

        @Test func eightThreadsDeriveAtOnce() throws {
            let expected = try derive(short, call())
            let equal = MutexGuarded(0)
            let threads = (1...8).map { _ in
                TestThread {
                    for _ in 1...4 {
                        let derived = try? derive(short, call())
                        guard derived?.wrapping == expected.wrapping else { return }
                        equal.withLock { $0 += 1 }
                    }
                }
            }
            for thread in threads { thread.join() }
            #expect(equal.withLock { $0 } == 32)
        }

        @Test(arguments: ["fork", "refused", "small"])
        func aForkAndAThreadThatCannotStartEndInAnAnswer(mode: String) throws {
            let program = try DerivationProgram("derive_faults")
            #expect(try ChildProcess.run(program.path, [mode], environment: [:]).status == 0)
        }

        @Test func costsOutsideTheLimitsAreRefused() throws {
            #expect(throws: TokenKeepError(.internal, "")) { try derive(.subkey, call()) }
            #expect(throws: TokenKeepError(.internal, "")) {
                try derive(.argon2id(passes: 0, memoryKiB: 64, salt: salt), call())
            }
            #expect(throws: TokenKeepError(.internal, "")) {
                try derive(.argon2id(passes: 1, memoryKiB: 4, salt: salt), call())
            }
            #expect(throws: Never.self) { try PasswordDerivation.check(memoryKiB: 65_536, of: 131_072) }
            #expect(throws: TokenKeepError(.io, "")) { try PasswordDerivation.check(memoryKiB: 65_537, of: 131_072) }
        }

        @Test func aThreadThatCannotStartAndMemoryThatIsMissingAreErrors() throws {
            for error in [EAGAIN, EPERM, ENOMEM] {
                #expect(throws: TokenKeepError(.io, "")) { try PasswordDerivation.check(error, memoryKiB: 64, call()) }
            }
        }

        @Test func anEmptyAndALongPasswordAreRefused() throws {
            for length in [0, 4097] {
                let password = try SecretBytes(bytes: [UInt8](repeating: 97, count: length))
                #expect(throws: TokenKeepError(.invalid, "")) {
                    try PasswordDerivation.key(of: password, by: short, call())
                }
            }
        }
    }
}
