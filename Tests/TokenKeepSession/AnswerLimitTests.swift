import TestSupport
import Testing
import TokenKeepCore
import TokenKeepSession

/// The time that a transport has for the server's answer.
struct AnswerLimitTests {
    private let world = SessionWorld()

    @Test func eachRequestHasTheTimeForItsAnswerAlone() throws {
        let left = MutexGuarded<[(purpose: SessionRequest.Purpose, milliseconds: UInt32)]>([])
        let server = world.server.transport
        // A call has 10 seconds.
        let session = try world.session(answerLimit: 50) { request throws(TokenKeepError) in
            left.withLock { $0.append((request.purpose, request.deadline.remainingMilliseconds)) }
            return try server(request)
        }
        try session.begin(.user, response: SecretBytes(world.server.signIn))
        _ = try session.refresh()
        try session.validate()
        try session.extend(by: 600)
        _ = try session.end()
        let all = left.withLock { $0 }
        #expect(all.map(\.purpose) == [.refresh, .validate, .extend, .revoke])
        #expect(all.allSatisfy { $0.milliseconds <= 50 }, "\(all)")
    }
}
