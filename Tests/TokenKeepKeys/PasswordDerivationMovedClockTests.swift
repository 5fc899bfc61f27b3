import CSystemShims
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepKeys

/// Derivations whose call ends before them.
@Suite struct PasswordDerivationMovedClockTests {
    private let salt = Array("salt of 16 bytes".utf8)
    /// Seconds, however fast the machine: a call that is to end before has waited a few hundredths of a second.
    private var long: KeyDerivation { .argon2id(passes: 32, memoryKiB: 65_536, salt: salt) }
    private var short: KeyDerivation { .argon2id(passes: 1, memoryKiB: 8192, salt: salt) }

    private func derive(_ derivation: KeyDerivation, _ call: CallContext = .patient) throws(TokenKeepError)
        -> DerivedKey
    {
        try PasswordDerivation.key(of: try SecretBytes("password"), by: derivation, call)
    }

    /// A call whose deadline passes while the derivation runs.
    private func expectTimeOut(_ derivation: KeyDerivation) {
        #expect(throws: TokenKeepError(.timedOut, "")) {
            try TestClock.passLimits(by: Patience.beyond) { try derive(derivation) }
        }
    }

    private func expectThatNoneIsAbandoned() { #expect(Patience.wait { tokenkeep_abandoned_derivations() == 0 }) }

    @Test func aDeadlineEndsTheCallAndTheMemoryIsGivenBack() throws {
        let before = ResidentMemory.kib
        expectTimeOut(.argon2id(passes: 2, memoryKiB: 1 << 20, salt: salt))
        #expect(tokenkeep_abandoned_derivations() == 1)
        expectThatNoneIsAbandoned()
        #expect(ResidentMemory.kib < before + 100_000)
    }

    @Test func aCancellationEndsTheCall() throws {
        let cancellation = Cancellation()
        let call = CallContext(deadline: .patient.cancelled(by: cancellation))
        let outcome = MutexGuarded<Status>(.ok)
        let thread = TestThread {
            do throws(TokenKeepError) {
                _ = try derive(long, call)
            } catch {
                outcome.withLock { $0 = error.status }
            }
        }
        #expect(TestThread.wait(untilAsleep: [thread]))
        cancellation.cancel()
        thread.join()
        #expect(outcome.withLock { $0 } == .cancelled)
        #expect(tokenkeep_abandoned_derivations() == 1)
        #expect(throws: TokenKeepError(.cancelled, "")) { try derive(short, call) }
        expectThatNoneIsAbandoned()
    }

    @Test func fourAbandonedDerivationsKeepAFifthFromStarting() throws {
        for _ in 1...4 { expectTimeOut(long) }
        #expect(tokenkeep_abandoned_derivations() == 4)
        expectTimeOut(short)
        #expect(tokenkeep_abandoned_derivations() == 4)
        // With time enough it waits for one of them.
        #expect(throws: Never.self) { try derive(short) }
        #expect(tokenkeep_abandoned_derivations() < 4)
        expectThatNoneIsAbandoned()
    }
}
