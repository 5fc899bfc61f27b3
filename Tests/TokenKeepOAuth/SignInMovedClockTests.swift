import Synchronization
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepEngine
import TokenKeepOAuth
import TokenKeepRecords
import TokenKeepSession

/// Sign-ins whose limits pass.
@Suite struct SignInMovedClockTests {
    private let world: SessionSignInTests

    init() throws { world = try SessionSignInTests() }

    @Test func aSignInEndsAtItsDeadline() throws {
        let played = PlayedServer()
        let isOpened = MutexGuarded(false)
        // The flow looks ten times a second whether somebody pastes the address.
        let outcome = try TestClock.passLimits(
            when: { isOpened.withLock { $0 } }, by: Double(Patience.milliseconds) / 1000,
            of: {
                try #require(throws: TokenKeepError.self) {
                    try SignIn.run(at: played.server, .test(.browser), until: .patient) { _ throws(TokenKeepError) in
                        isOpened.withLock { $0 = true }
                        return nil
                    }
                }
            })
        #expect(outcome.answer.status == .timedOut)
    }

    /// The token endpoint hangs 15 s before the code ends: its usual limit of 30 s would outlast the sign-in.
    @Test func aDeviceEndpointThatHangsEndsWithTheSignIn() throws {
        let server = try SignInServer(world.provider(token: "/hangs"), world.store, until: .patient)
        var options = SignInOptions.test(.device)
        options.pause = { _, deadline in
            try? TestClock.advance(seconds: Double(deadline.remainingMilliseconds) / 1000 - 15)
        }
        let outcome = try TestClock.passLimits(
            when: { [server = world.server] in
                (try? server.requests.contains { $0.contains("/hangs") }) ?? false
            }, by: 1,
            of: {
                try world.fault {
                    _ = try SignIn.run(at: server, options, until: .patient) { _ throws(TokenKeepError) in nil }
                }
            })
        #expect(outcome.answer.status == .timedOut)
        #expect(outcome.duration >= .seconds(60) && outcome.duration < .seconds(70))
    }

    @Test func aRevocationWithoutAnAnswerEndsAtItsLimit() throws {
        let login = try SessionSignIn(
            world.store, service: "api.example.com", account: nil, at: world.provider(revocation: "/hangs"),
            .test(.device, scope: "openid"), SessionOptions())
        let server = world.server
        let outcome = try TestClock.passLimits(
            when: { (try? server.requests.contains { $0.contains("/hangs") }) ?? false },
            of: { try world.fault { _ = try login.run(until: .patient) { _ throws(TokenKeepError) in nil } } })
        #expect(outcome.answer.status == .denied && outcome.answer.message.contains("still valid at the server"))
        #expect(outcome.duration >= .milliseconds(login.revocationLimit))
        #expect(outcome.duration < .seconds(30), "the usual limit of an answer")
    }

    @Test func tokensOfASessionThatIsBusyAreRevoked() throws {
        let name = try ItemName(namespace: world.store.namespace, service: "api.example.com", account: "ann")
        let lock = try SessionLock.acquire(.change, of: name, world.store.records, .patient)
        let error = Mutex<TokenKeepError?>(nil)
        let world = world
        let isWaiting = { @Sendable in KernelLocks.isWaited(below: world.directory.path) }
        let thread = TestThread {
            let fault = try? world.fault { _ = try world.login("ann") }
            error.withLock { $0 = fault }
        }
        #expect(Patience.wait { isWaiting() })
        try TestClock.advance(seconds: Double(Patience.milliseconds) / 1000)
        thread.join()
        let fault = try #require(error.withLock { $0 })
        #expect(fault.status == .busy && fault.message.contains("were revoked"))
        #expect(try world.revocations.count == 1)
        _ = consume lock
    }
}
