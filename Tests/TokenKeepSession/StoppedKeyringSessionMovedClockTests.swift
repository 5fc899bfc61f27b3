import StoreTestSupport
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepEngine
import TokenKeepSession

/// A connected session beside a real gnome-keyring that is stopped, with a pending sign-in for the keyring, while another
/// program has signed in there.
@Suite struct StoppedKeyringSessionMovedClockTests {
    private let shared: SharedKeyring
    private var keyring: PrivateKeyring { shared.keyring }
    private var ours: TestStore { shared.ours }
    private var theirs: TestStore { shared.theirs }

    init() throws { shared = try SharedKeyring() }

    private func session(_ stores: TestStore, isConnected: Bool = true) throws -> SessionEngine {
        try SessionEngine(
            stores.open(isConnected: isConnected), service: "api.example.com", account: "ann", SessionOptions())
    }

    /// A session that has read its token from the keyring, and keeps it.
    private func connected() throws -> SessionEngine {
        let session = try session(ours)
        try session.begin(rawToken: SecretBytes("old"))
        #expect(try text(session) == "old")
        try self.session(ours, isConnected: false).begin(rawToken: SecretBytes("ours"))
        awaitNextSecond()
        try self.session(theirs).begin(rawToken: SecretBytes("theirs"))
        return session
    }

    private func text(_ session: SessionEngine) throws -> String? { try session.token().value.utf8String }

    @Test func aKeyringThatGoesOnGivesTheNewerToken() throws {
        let session = try connected()
        #expect(try keyring.stopped(during: { try text(session) }) == "theirs")
    }

    @Test func aTokenComesByTheCallsDeadline() throws {
        let session = try connected()
        let limit = Duration.milliseconds(SessionOptions().timeoutMilliseconds + Patience.milliseconds)
        let token = try keyring.hung { try text(session) }
        #expect(token.answer == "ours")
        #expect(token.duration < limit, "\(token.duration)")
        #expect(try Patience.wait { try text(self.session(ours)) == "theirs" })
    }
}
