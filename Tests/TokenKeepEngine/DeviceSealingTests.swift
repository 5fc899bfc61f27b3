import Glibc
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepEngine
@testable import TokenKeepKeys

/// Items of levels that never leave the machine: the vault seals them for a Secret Service, even without a password.
@Suite(.enabled(if: geteuid() == 0, "a machine key must be root's")) struct DeviceSealingTests {
    @Test(arguments: [true, false])
    func theServiceGetsCiphertext(hasPassword: Bool) throws {
        let world = try SealingWorld(hasPassword: hasPassword, isBound: true)
        let level = AccessLevel.afterFirstUnlockThisDeviceOnly
        #expect(try world.save("token", level: level).module == "secret-service")
        #expect(try world.plain() == "" && world.sealed() != "")
        #expect(try world.load(in: world.open()) == "token")
        // A save without a level keeps the level; a save with a lower level is refused.
        #expect(try world.save("later").module == "secret-service")
        #expect(try world.plain() == "")
        for lower in [AccessLevel.afterFirstUnlock, .whenUnlocked] {
            #expect(throws: TokenKeepError(.policy, "")) { try world.save("lower", level: lower) }
        }
        #expect(try world.load() == "later")
        // On a machine without the key, the item stays locked.
        try elsewhere(world, hasPassword)
        #expect(throws: TokenKeepError(.locked, "")) { try world.load(in: world.open()) }
        _ = world.directory.writeMachineKey([UInt8](repeating: 1, count: 32))
        if hasPassword { try world.store.unlock(world.password) }
        #expect(try world.load(in: world.open()) == "later")
        #expect(try world.clear() && world.sealed() == "")
    }

    private func elsewhere(_ world: SealingWorld, _ hasPassword: Bool) throws {
        _ = world.directory.writeMachineKey([UInt8](repeating: 2, count: 32))
        guard hasPassword else { return }
        try world.store.lock()
        #expect(try world.store.unlock(world.password).deviceProblem != nil)
    }

    /// Items of other levels stay plain in the service, if the vault has no password.
    @Test func otherLevelsAreNotSealedWithoutAPassword() throws {
        let world = try SealingWorld(hasPassword: false, isBound: true)
        try world.save("plain", level: .whenUnlocked)
        #expect(try world.plain() == "plain" && world.sealed() == "")
    }

    @Test func itemsMoveBetweenVaultAndService() throws {
        let world = try SealingWorld(isBound: true)
        try world.save("token", level: .whenUnlockedThisDeviceOnly)
        _ = try world.store.transfer.migrate(from: "secret-service", to: "vault")
        #expect(try world.sealed() == "" && world.load() == "token")
        _ = try world.store.transfer.migrate(from: "vault", to: "secret-service")
        #expect(try world.plain() == "" && world.sealed() != "" && world.load() == "token")
    }

    /// A rotation re-encrypts the service's item under the new key of the item's level.
    @Test func aChangeOfKeysReachesTheService() throws {
        let world = try SealingWorld(isBound: true)
        try world.save("token", level: .afterFirstUnlockThisDeviceOnly)
        let before = try world.sealed()
        let rebound = try world.store.device.rebind(
            .machineKey, isDestroying: false, password: { world.password }, lost: { _, _ in })
        #expect(rebound.outcome.problem == nil)
        #expect(try world.sealed() != before && world.load(in: world.open()) == "token")
        #expect(try world.store.unlock(world.password).problem == nil)
    }

    @Test func withoutADeviceOrAPasswordTheRefusalNamesTheCommand() throws {
        let world = try SealingWorld(hasPassword: false)
        func refusal(_ level: AccessLevel) -> TokenKeepError? {
            do {
                try world.save("token", level: level)
                return nil
            } catch { return error as? TokenKeepError }
        }
        #expect(refusal(.afterFirstUnlockThisDeviceOnly)?.status == .unsupported)
        #expect(refusal(.afterFirstUnlockThisDeviceOnly)?.hint == "tokenkeep device choose")
        _ = world.directory.writeMachineKey([UInt8](repeating: 1, count: 32))
        _ = try world.store.device.choose(nil) { () throws(TokenKeepError) in try SecretBytes("none") }
        #expect(refusal(.whenPasscodeSetThisDeviceOnly)?.status == .policy)
        #expect(refusal(.whenPasscodeSetThisDeviceOnly)?.hint == "tokenkeep password set")
        #expect(refusal(.afterFirstUnlockThisDeviceOnly) == nil)
    }
}
