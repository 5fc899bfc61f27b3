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
        private var short: KeyDerivation { .argon2id(passes: 1, memoryKiB: 8192, salt: salt) }

        private func derive(
            _ derivation: KeyDerivation, _ call: CallContext = .patient
        ) throws(TokenKeepError) -> DerivedKey {
            try PasswordDerivation.key(of: try SecretBytes("password"), by: derivation, call)
        }

        @Test(arguments: [1, 7, 32, 4096]) func theKeyIsThatOfLibsodium(length: Int) throws {
            let password = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ 1) }
            for (passes, memoryKiB) in [(1, 8192), (3, 8192), (2, 65_536)] as [(UInt32, UInt32)] {
                let derived = try PasswordDerivation.key(
                    of: SecretBytes(bytes: password), by: .argon2id(passes: passes, memoryKiB: memoryKiB, salt: salt),
                    .patient)
                let expected = Libsodium.argon2id(password, salt, passes, memoryKiB)
                #expect(try derived.wrapping == SecretBytes(bytes: expected[..<32]))
                #expect(derived.commitment == Array(expected[32...]))
            }
        }

        @Test func eightThreadsDeriveAtOnce() throws {
            let expected = try derive(short)
            let equal = MutexGuarded(0)
            let threads = (1...8).map { _ in
                TestThread {
                    for _ in 1...4 {
                        let derived = try? derive(short)
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
            #expect(throws: TokenKeepError(.internal, "")) { try derive(.subkey) }
            #expect(throws: TokenKeepError(.internal, "")) {
                try derive(.argon2id(passes: 0, memoryKiB: 64, salt: salt))
            }
            #expect(throws: TokenKeepError(.internal, "")) {
                try derive(.argon2id(passes: 1, memoryKiB: 4, salt: salt))
            }
            #expect(throws: Never.self) { try PasswordDerivation.check(memoryKiB: 65_536, of: 131_072) }
            #expect(throws: TokenKeepError(.io, "")) { try PasswordDerivation.check(memoryKiB: 65_537, of: 131_072) }
        }

        @Test func aThreadThatCannotStartAndMemoryThatIsMissingAreErrors() throws {
            for error in [EAGAIN, EPERM, ENOMEM] {
                #expect(throws: TokenKeepError(.io, "")) {
                    try PasswordDerivation.check(error, memoryKiB: 64, .patient)
                }
            }
        }

        @Test func anEmptyAndALongPasswordAreRefused() throws {
            for length in [0, 4097] {
                let password = try SecretBytes(bytes: [UInt8](repeating: 97, count: length))
                #expect(throws: TokenKeepError(.invalid, "")) {
                    try PasswordDerivation.key(of: password, by: short, .patient)
                }
            }
        }
    }
}
