package import TokenKeepCore

/// The keys of a vault that this process can use. After each change of the vault's header, a new ring is made.
///
/// The keys that the keyfile opens are in the ring. A key that a password opened is read from the kernel's keyring, or
/// from this process's memory, at each use, because another process may have locked the vault.
package struct KeyRing: Sendable {
    /// The length of every key of the vault, in bytes.
    package static let keyLength = 32

    /// The header (file of encrypted keys), and the keys that the keyfile alone opens. Shared by all copies of this key
    /// ring.
    private let base: Base
    /// The keys that the keyfile opened, and keys that a password opened for one operation.
    package let opened: [OpenKey]

    package var header: Header { base.header }
    /// The key for the file names of records.
    package var names: SecretBytes { base.names }
    /// The key that encrypts the part of a record that is readable while the vault is locked.
    ///
    /// This key also encrypts the records' lists of sealed copies in other modules.
    package var states: SecretBytes { base.states }
    /// The key that encrypts the files about sessions (signed-in accounts).
    package var sessions: SecretBytes { base.sessions }
    /// The keys for versions, fingerprints, IDs and machine hashes.
    package var journal: JournalKeys { base.journal }
    var headerMAC: SecretBytes { base.headerMAC }
    /// The journal key itself, which stays the same when all other keys are replaced.
    var journalKey: OpenKey { base.journalKey }
    package var vaultID: [UInt8] { base.header.vaultID }
    package var era: UInt64 { base.header.era }

    private final class Base: Sendable {
        let header: Header
        let names: SecretBytes
        let states: SecretBytes
        let sessions: SecretBytes
        let journal: JournalKeys
        let headerMAC: SecretBytes
        let journalKey: OpenKey
        let residentKeys: ClassKeyStore
        let ofDevice: DeviceKeys?

        init(
            _ header: Header, nameKey: OpenKey, journalKey: OpenKey, _ residentKeys: ClassKeyStore,
            keyfile: SecretBytes
        ) throws(TokenKeepError) {
            self.header = header
            ofDevice = DeviceKeys(header, keyfile: keyfile, residentKeys.devices)
            names = try Subkey.ofNameKey(nameKey.bytes, for: .names)
            states = try Subkey.ofNameKey(nameKey.bytes, for: .states)
            sessions = try Subkey.ofNameKey(nameKey.bytes, for: .sessions)
            headerMAC = try Subkey.ofNameKey(nameKey.bytes, for: .headerMAC)
            journal = try JournalKeys(journalKey.bytes)
            self.journalKey = journalKey
            self.residentKeys = residentKeys
        }
    }

    private init(
        header: Header, nameKey: OpenKey, journalKey: OpenKey, residentKeys: ClassKeyStore, keyfile: SecretBytes
    ) throws(TokenKeepError) {
        base = try Base(header, nameKey: nameKey, journalKey: journalKey, residentKeys, keyfile: keyfile)
        opened = []
    }

    private init(_ other: KeyRing, with keys: [OpenKey]) {
        base = other.base
        opened = other.opened + keys
    }

    /// Opens a header file with the keyfile, and checks the file's MAC A; in a vault without a password, also MAC B.
    ///
    /// - Parameter era: the N of the directory `era-N` that contains the file.
    static func open(
        headerFile: [UInt8], keyfile: Keyfile, era: UInt64, residentKeys: ClassKeyStore
    ) throws(FormatFault) -> KeyRing {
        let header = try headerFile.lent { bytes throws(FormatFault) in try Header.parse(bytes) }
        guard header.vaultID == keyfile.vaultID else { throw .malformed("the keyfile belongs to another vault") }
        guard header.era == era, keyfile.era == era else { throw .malformed("it belongs to another era") }
        let derived = try FormatFault.needing { () throws(TokenKeepError) in try keyfile.derived() }
        let outside = WrappedKey.Place(vaultID: header.vaultID, era: era, slotType: .keyfile, slotID: 0)
        let nameKey = try header.nameKey.open(at: outside, with: derived.wrapping)
        let journalKey = try header.journalKey.open(at: outside, with: derived.wrapping)
        let ring = try FormatFault.needing { () throws(TokenKeepError) in
            try KeyRing(
                header: header, nameKey: nameKey, journalKey: journalKey, residentKeys: residentKeys,
                keyfile: derived.wrapping)
        }
        try HeaderMAC.checkA(headerFile, key: ring.headerMAC)
        guard let slot = header.slot(.keyfile) else { return ring }
        guard let keys = try slot.open(with: derived, of: header, headerFile) else {
            throw .malformed("the commitment of its keyfile slot is wrong")
        }
        return ring.adding(keys)
    }

    /// The keys that are open in this process: those that the keyfile opened, and those added by ``adding(_:)``.
    package var openKeys: [OpenKey] { opened }

    /// A copy of the key ring with more open keys, to be used for one operation only.
    package func adding(_ keys: [OpenKey]) -> KeyRing { KeyRing(self, with: keys) }

    /// Returns the key with the purpose and id that a record names.
    ///
    /// - Throws: ``FormatFault/unknownKey`` if the header does not contain the key, ``FormatFault/lockedKey`` if the
    ///   key is locked.
    package func key(_ id: UInt64, for purpose: KeyPurpose) throws(FormatFault) -> SecretBytes {
        if let key = opened.first(where: { $0.id == id && $0.purpose == purpose }) { return key.bytes }
        guard base.header.names(id, purpose) else { throw .unknownKey }
        return try resident(id, purpose)
    }

    /// Returns the class key of an item whose level must be enforced.
    ///
    /// A key that the password opened for this operation is always returned. Any other key of a level that ends with
    /// the screen's lock is returned only if an agent that notices the lock holds the key.
    ///
    /// - Throws: ``FormatFault/unenforcedKey`` if no such agent holds the key, and the errors of ``key(_:for:)``.
    package func enforcedKey(_ id: UInt64, for level: AccessLevel) throws(FormatFault) -> SecretBytes {
        let purpose = KeyPurpose.level(level)
        let key = try key(id, for: purpose)
        guard level.endsWithScreen, !opened.contains(where: { $0.id == id && $0.purpose == purpose }),
            !base.residentKeys.isEnforced(id, for: purpose, of: vaultID)
        else { return key }
        throw .unenforcedKey
    }

    /// The vault's current key for this purpose, which encrypts new data.
    package func currentKey(for purpose: KeyPurpose) throws(FormatFault) -> OpenKey {
        if let key = opened.first(where: { $0.purpose == purpose && !$0.isRetiring }) { return key }
        guard let id = currentKeyID(for: purpose) else { throw .lockedKey(purpose) }
        return OpenKey(purpose: purpose, isRetiring: false, id: id, bytes: try resident(id, purpose))
    }

    /// The id of the key that encrypts new data for this purpose, open or locked; nil if the vault has no such key.
    package func currentKeyID(for purpose: KeyPurpose) -> UInt64? {
        base.header.listedKeys.first { $0.purpose == purpose && !$0.isRetiring }?.id
    }

    /// Whether the key that encrypts new data for this purpose is open.
    package func isOpen(_ purpose: KeyPurpose) -> Bool { (try? currentKey(for: purpose)) != nil }

    /// Makes an object that checks whether the current key of a purpose is open; nil if the vault has no such key.
    package func presence(of purpose: KeyPurpose) -> KeyPresence? {
        currentKeyID(for: purpose).map {
            KeyPresence(store: base.residentKeys, place: ClassKeyPlace.of($0, for: purpose, vaultID))
        }
    }

    /// Makes a lease: copies of the keys that encrypt items of these levels, which stay usable after the vault is locked.
    ///
    /// Returns nil if the vault has no password, or if one of the keys is not open.
    package func lease(of levels: Set<AccessLevel>) -> SealingLease? {
        guard header.hasPassword else { return nil }
        var keys: [String: SecretBytes] = [:]
        for purpose in [.metadata] + levels.map(KeyPurpose.level) {
            guard let key = try? currentKey(for: purpose) else { return nil }
            keys[ClassKeyPlace.of(key.id, for: purpose, vaultID)] = key.bytes
        }
        return SealingLease(keys)
    }

    /// The vault's current keys that a lease contains.
    ///
    /// A lease is a set of copies of keys, which stay usable after the vault is locked.
    package func leased(_ lease: SealingLease) -> [OpenKey] {
        header.knownSlots.flatMap(\.keys).filter { !$0.isRetiring }.compactMap { key in
            lease.key(at: ClassKeyPlace.of(key.id, for: key.purpose, vaultID)).map {
                OpenKey(purpose: key.purpose, isRetiring: false, id: key.id, bytes: $0)
            }
        }
    }

    /// The keys of the device slots in a vault without a password; nil if the vault has no such slots.
    ///
    /// The device opens these keys when they are first used.
    var deviceKeys: DeviceKeys? { base.ofDevice }

    private func resident(_ id: UInt64, _ purpose: KeyPurpose) throws(FormatFault) -> SecretBytes {
        if purpose.isOfDevice, let keys = base.ofDevice { return try keys.key(id, for: purpose) }
        let key = try FormatFault.needing { () throws(TokenKeepError) in
            try base.residentKeys.key(id, for: purpose, of: vaultID)
        }
        guard let key else { throw .lockedKey(purpose) }
        return key
    }
}
