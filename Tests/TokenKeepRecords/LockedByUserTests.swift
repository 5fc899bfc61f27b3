import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepEngine
@testable import TokenKeepKeys
@testable import TokenKeepRecords

/// A password that the user types for another purpose does not open what the user locked.
@Suite struct LockedByUserTests {
    private let world = LockedVault()

    private func login(_ service: String, hasSession: Bool = true, password: String = "old") throws -> Status {
        let login = VaultLogin(world.other(), service: service, hasSession: hasSession)
        #expect(try login.unlock(with: SecretBytes(password)) == .done)
        return world.loading("a", from: world.other())
    }

    private func prepare() throws {
        try world.save("a")
        try world.setPassword()
    }

    @Test(arguments: ["sudo", "polkit-1", "cups"]) func anotherServiceOpensNothing(service: String) throws {
        try prepare()
        try world.store.lock()
        #expect(try login(service) == .locked)
        #expect(try login(service, hasSession: false) == .ok, "without a session it may be a login of another name")
    }

    @Test(arguments: ["swaylock", "gdm-password", "sshd", "login", "kde"]) func aLoginOrALockerOpens(
        service: String
    ) throws {
        try prepare()
        try world.store.lock()
        #expect(try login(service) == .ok)
    }

    @Test func aChangedPasswordIsFollowedAndOpensNothing() throws {
        try prepare()
        try world.store.lock()
        let passwd = VaultLogin(world.other(), service: "passwd", hasSession: true)
        #expect(try passwd.follow(from: SecretBytes("old"), to: SecretBytes("new")) == .done)
        #expect(world.loading("a", from: world.other()) == .locked)
        #expect(try login("sudo", password: "new") == .locked)
        #expect(try login("swaylock", password: "new") == .ok)
    }

    @Test func aChangedPasswordLeavesAnOpenVaultOpen() throws {
        try prepare()
        let passwd = VaultLogin(world.other(), service: "passwd", hasSession: true)
        #expect(try passwd.follow(from: SecretBytes("old"), to: SecretBytes("new")) == .done)
        #expect(world.loading("a", from: world.other()) == .ok)
    }

    /// Somebody else unlocked the vault, so the password of the login that was too slow may be wrong.
    @Test func aVaultThatIsOpenDoesNotProveTheLoginsPassword() throws {
        try prepare()
        let store = world.other()
        LastLogin(service: "sshd", outcome: .tooSlow).write(store.records)
        let login = VaultLogin(store, service: "sudo", hasSession: true)
        #expect(try login.unlock(with: SecretBytes("of the login"), isCreating: true) == .done)
        #expect(LastLogin.read(store.records)?.outcome == .tooSlow)
        #expect(try login.follow(from: SecretBytes("of the login"), to: SecretBytes("new")) == .done)
        #expect(LastLogin.read(store.records)?.outcome == .tooSlow)
    }

    @Test func anUnlockEndsTheMark() throws {
        try prepare()
        try world.store.lock()
        try world.unlock("old", world.other())
        _ = try world.records.opener.residentKeys.removal.purge(
            all: true, of: #require(try world.records.opener.vaultID()))
        #expect(world.loading("a") == .locked)
        #expect(try login("sudo") == .ok, "the user has not locked it since")
    }

    @Test func theLockOfTheScreenLeavesNoMark() throws {
        try prepare()
        try world.store.lock(.screen)
        #expect(try login("sudo") == .ok)
    }

    @Test func aVaultWithoutAPasswordGetsNoMark() throws {
        try world.save("a")
        #expect(throws: TokenKeepError.self) { try world.store.lock() }
        let vaultID = try #require(try world.records.opener.vaultID())
        #expect(!world.records.opener.residentKeys.isLockedByUser(vaultID))
    }
}
