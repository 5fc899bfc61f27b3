import Testing
import TokenKeepCore

@testable import TokenKeepKeys

/// What a slot asks for before it opens: first the commitment, then MAC B, then each box.
@Suite struct SlotOpeningTests {
    private let vaultID = [UInt8](repeating: 7, count: 16)
    private let derivation = KeyDerivation.argon2id(passes: 1, memoryKiB: 8, salt: [UInt8](repeating: 1, count: 16))
    private let call = CallContext.patient

    private func derived(_ password: String) throws -> DerivedKey {
        try PasswordDerivation.key(of: SecretBytes(password), by: derivation, call)
    }

    private func made() throws -> EraKeys {
        try EraKeys.make(
            vaultID: vaultID, era: 1, opener: .password(derived("horse"), derivation), journalKey: nil, retiring: [])
    }

    private func slot(_ made: EraKeys) throws -> KnownSlot { try #require(made.header.slot(.password)) }

    @Test func thePasswordOpensEveryKeyAndAnotherNone() throws {
        let made = try made()
        let opened = try #require(try slot(made).open(with: derived("horse"), of: made.header, made.headerFile))
        #expect(Set(opened.map(\.id)) == Set(made.keys.map(\.id)) && opened.count == 5)
        #expect(try slot(made).open(with: derived("house"), of: made.header, made.headerFile) == nil)
        #expect(try slot(made).openUnchecked(with: derived("house"), of: made.header) == nil)
    }

    /// The half that wraps and the half that commits are of one derivation: no slot opens under two passwords.
    @Test func aCommitmentOfAnotherPasswordIsAnotherPassword() throws {
        let (made, right, other) = (try made(), try derived("horse"), try derived("house"))
        let slot = try slot(made)
        let mixed = DerivedKey(wrapping: right.wrapping, commitment: other.commitment)
        #expect(try slot.open(with: mixed, of: made.header, made.headerFile) == nil)
        let wrong = DerivedKey(wrapping: other.wrapping, commitment: right.commitment)
        #expect(throws: FormatFault.malformed("its wrapped key fails authentication")) {
            try slot.open(with: wrong, of: made.header, made.headerFile)
        }
    }

    @Test func everyByteUnderMACBIsItsOwn() throws {
        let made = try made()
        let (slot, derived) = (try slot(made), try derived("horse"))
        for index in made.headerFile.indices {
            var file = made.headerFile
            file[index] ^= 1
            #expect(throws: FormatFault.refusedHeader) { try slot.open(with: derived, of: made.header, file) }
            #expect(try slot.openUnchecked(with: derived, of: made.header)?.count == 5)
        }
    }

    /// A wrapped key opens in its slot, era, vault and state alone.
    @Test func aWrappedKeyIsBoundToItsPlace() throws {
        let wrapping = try SecretBytes(randomCount: 32)
        let key = try OpenKey.make(.level(.afterFirstUnlock))
        let place = WrappedKey.Place(vaultID: vaultID, era: 1, slotType: .password, slotID: 5)
        let wrapped = WrappedKey.wrapping(key, at: place, with: wrapping)
        #expect(try wrapped.open(at: place, with: wrapping).bytes == key.bytes)
        let places = [
            WrappedKey.Place(vaultID: [UInt8](repeating: 8, count: 16), era: 1, slotType: .password, slotID: 5),
            WrappedKey.Place(vaultID: vaultID, era: 2, slotType: .password, slotID: 5),
            WrappedKey.Place(vaultID: vaultID, era: 1, slotType: .recovery, slotID: 5),
            WrappedKey.Place(vaultID: vaultID, era: 1, slotType: .password, slotID: 6),
        ]
        for other in places { #expect(throws: FormatFault.self) { try wrapped.open(at: other, with: wrapping) } }
        let changed = [
            WrappedKey(purpose: .level(.whenUnlocked), isRetiring: false, id: key.id, box: wrapped.box),
            WrappedKey(purpose: key.purpose, isRetiring: true, id: key.id, box: wrapped.box),
            WrappedKey(purpose: key.purpose, isRetiring: false, id: key.id ^ 1, box: wrapped.box),
        ]
        for other in changed { #expect(throws: FormatFault.self) { try other.open(at: place, with: wrapping) } }
    }

    // MARK: Eras

    @Test func theNextEraSharesTheJournalKeyAlone() throws {
        let keys = ClassKeyStore(obstacle: "this is a test")
        let first = try made().ring(keys)
        let retiring = try first.currentKey(for: .level(.afterFirstUnlock)).retiring
        let made = try EraKeys.make(
            vaultID: vaultID, era: 2, opener: .password(derived("horse"), derivation), journalKey: first.journalKey,
            retiring: [retiring])
        let second = try made.ring(keys)
        let name: [UInt8] = [1, 2, 3]
        #expect(first.journal.id(of: name) == second.journal.id(of: name))
        #expect(first.names != second.names && first.states != second.states && first.headerMAC != second.headerMAC)
        for purpose in EraKeys.purposes(withPassword: true) {
            #expect(try first.currentKey(for: purpose).id != second.currentKey(for: purpose).id)
            #expect(try first.currentKey(for: purpose).bytes != second.currentKey(for: purpose).bytes)
        }
        #expect(try second.key(retiring.id, for: retiring.purpose) == retiring.bytes)
        #expect(made.keys.contains { $0.id == retiring.id && $0.isRetiring })
    }

    /// Without a password no presence key is kept: nothing could ask for it.
    @Test func aKeyfileSlotTakesNoPresenceKey() throws {
        let retiring = [try OpenKey.make(.presence).retiring, try OpenKey.make(.level(.whenUnlocked)).retiring]
        let made = try EraKeys.make(vaultID: vaultID, era: 2, opener: .keyfile, journalKey: nil, retiring: retiring)
        #expect(made.header.knownSlots.flatMap(\.keys).filter(\.isRetiring).map(\.id) == [retiring[1].id])
        #expect(try made.ring(ClassKeyStore(obstacle: "this is a test")).openKeys.contains { $0.id == retiring[1].id })
    }
}
