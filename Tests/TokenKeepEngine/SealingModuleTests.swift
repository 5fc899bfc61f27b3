import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepEngine

/// A vault without a key under which it could seal, or with a key for some levels only. Its records name a sealed copy of
/// each item.
private struct KeylessSealer: SecretSealer {
    /// Whether the vault seals items of other levels.
    let sealsOthers: Bool

    func vaultID() throws(TokenKeepError) -> String? { String(repeating: "0", count: 32) }
    func vaultID(ofSealed secret: SecretBytes) -> String? { nil }
    func sealsItems(of level: AccessLevel?) throws(TokenKeepError) -> Bool { sealsOthers && level == nil }
    func holds(_ name: ItemName) -> Bool { true }
    var mayHaveSealed: Bool { true }
    func hasSealedCopy(of name: ItemName) -> Bool { true }
    func isHeldSealed(_ name: ItemName, by module: String) throws(TokenKeepError) -> Bool { false }
    func protection(of level: AccessLevel, _ flags: ItemFlags) throws(TokenKeepError) -> Protection {
        Protection(none: "the vault has no key for it")
    }
    func seal(
        _ secret: SecretBytes, of details: ItemDetails, for module: String, _ call: CallContext
    ) throws(TokenKeepError) -> SecretBytes { throw .noSealingVault }
    func acknowledge(_ name: ItemName, in module: String) {}
    func open(
        _ sealed: SecretBytes, of details: ItemDetails, _ call: CallContext
    ) throws(TokenKeepError) -> SecretBytes { throw .noSealingVault }
    func forget(_ name: ItemName, in module: String, everywhere: Bool) throws(TokenKeepError) {}
}

/// A save in a plugin whose item the vault should seal, but cannot.
@Suite struct SealingModuleTests {
    private let item: ItemName
    private let shelf = ScriptedModule("shelf")

    init() throws { item = try ItemName(service: "s", account: "a") }

    private func save(_ request: SaveRequest, sealsOthers: Bool, in shelf: ScriptedModule? = nil) throws {
        let module = SealingModule(base: shelf ?? self.shelf) { () throws(TokenKeepError) in try ItemVersionKey.random()
        }
        _ = try module.save(request, CallContext.patient.sealing(with: KeylessSealer(sealsOthers: sealsOthers)))
    }

    /// A save without a level keeps the item's level, which needs the device's key.
    @Test(arguments: [false, true]) func withoutTheDevicesKeyNoPlainSecretReplacesASealedOne(sealsOthers: Bool) throws {
        let old = try SaveRequest(name: item, secret: SecretBytes("old"), accessLevel: .whenUnlockedThisDeviceOnly)
        _ = try shelf.save(old, .patient)
        #expect {
            try save(SaveRequest(name: item, secret: SecretBytes("new")), sealsOthers: sealsOthers)
        } throws: { error in
            let error = error as? TokenKeepError
            return error?.status == .corrupt && error?.message == "the vault whose keys seal items is not there"
                && error?.hint == "restore it from a backup"
        }
        #expect(try shelf.load(item, .patient).secret.utf8String == "old")
    }

    @Test func anItemWhoseRequirementIsNotMetIsNotSavedPlain() throws {
        let request = try SaveRequest(
            name: item, secret: SecretBytes("new"), accessLevel: .whenUnlocked, flags: .requireEnforced)
        #expect(throws: TokenKeepError(.policy, "")) { try save(request, sealsOthers: true) }
        #expect(throws: TokenKeepError(.notFound, "")) { try shelf.load(item, .patient) }
    }

    /// A vault that is bound to a device and has no password seals only items of the device's levels.
    @Test func aModuleThatMeetsTheRequirementByItselfSavesPlain() throws {
        let enforced = Protection { _ in Protection.Axis(.enforced, "a test") }
        let safe = ScriptedModule("safe", protecting: enforced)
        let request = try SaveRequest(
            name: item, secret: SecretBytes("new"), accessLevel: .whenUnlocked, flags: .requireEnforced)
        try save(request, sealsOthers: true, in: safe)
        #expect(try safe.load(item, .patient).secret.utf8String == "new")
        let bound = try SaveRequest(
            name: item, secret: SecretBytes("newer"), accessLevel: .whenUnlockedThisDeviceOnly, flags: .requireEnforced)
        #expect(throws: TokenKeepError(.policy, "")) { try save(bound, sealsOthers: true, in: safe) }
        #expect(try safe.load(item, .patient).secret.utf8String == "new")
    }
}
