import Glibc
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepEngine
import TokenKeepSession

/// Watches of sessions go on when their vault is replaced, as those of items do (`WatchReplacementTests`).
@Suite struct SessionsWatchTests {
    private static let service = "api.example.com"

    private static func session(_ account: String, at vault: String) throws -> SessionEngine {
        var configuration = StoreConfiguration(stackText: "any required vault")
        configuration.vaultPath = vault
        return try SessionEngine(Store(configuration), service: service, account: account, SessionOptions())
    }

    private static func signIn(_ account: String, at vault: String) throws {
        let answer = #"{"access_token":"a","expires_in":3600,"refresh_token":"r"}"#
        try session(account, at: vault).begin(.user, response: SecretBytes(answer))
    }

    private static func isReadable(_ descriptor: Int32) -> Bool {
        var poller = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&poller, 1, Int32(Patience.milliseconds)) == 1
    }

    @Test(arguments: Replacement.allCases, [false, true])
    func aSignInAfterAReplacementIsReported(_ how: Replacement, _ isReadBetween: Bool) throws {
        let world = ReplacedVault { path in try SessionsWatchTests.signIn("other", at: path) }
        try SessionsWatchTests.signIn("ann", at: world.vault)
        var configuration = StoreConfiguration(stackText: "any required vault")
        configuration.vaultPath = world.vault
        let watch = try SessionsWatch(Store(configuration))
        #expect(try watch.all() == ["ann"])
        try world.replace(how) { if isReadBetween { _ = try watch.all() } }
        for number in 1...3 {
            try SessionsWatchTests.signIn("late\(number)", at: world.vault)
            #expect(SessionsWatchTests.isReadable(watch.descriptor))
            let seen = try watch.all()
            #expect(seen.contains("late\(number)"), "\(seen)")
        }
    }

    @Test func aHandleIsToldOfTheSignInInANewVault() throws {
        let world = ReplacedVault { path in try SessionsWatchTests.signIn("other", at: path) }
        try SessionsWatchTests.signIn("ann", at: world.vault)
        let session = try SessionsWatchTests.session("ann", at: world.vault)
        let descriptor = try session.watchDescriptor()
        #expect(try session.nextState()?.state == .user)
        for _ in 1...2 {
            try world.remove(world.vault + "/sessions")
            _ = try session.nextState()
            try world.remove(world.vault)
            #expect(SessionsWatchTests.isReadable(descriptor))
            #expect(try session.nextState()?.state == .signedOut)
            try SessionsWatchTests.signIn("ann", at: world.vault)
            #expect(SessionsWatchTests.isReadable(descriptor))
            #expect(try session.nextState()?.state == .user)
        }
    }
}

extension SessionsWatch {
    /// The accounts of all sessions that the watch has to report now.
    fileprivate func all() throws -> [String] {
        var accounts: [String] = []
        while let info = try next() { accounts.append(info.account) }
        return accounts
    }
}
