import CSodium
import TokenKeepCore

/// The keys of a vault, as far as they are open. Never changes: a changed header makes another.
///
/// What the keyfile opens is held here. A key that another slot wraps is looked for where an unlock keeps it, at each use.
final class KeyHierarchy: Sendable {
    /// How long every key is, in bytes.
    static let keyLength = 32

    /// A class key, the metadata key or a presence key, with its place in the hierarchy.
    struct Entry: Sendable {
        let purpose: KeyPurpose
        let isRetiring: Bool
        let id: UInt64
        let key: SecretBytes
    }

    /// A key that no slot opened, and where it is while the vault is unlocked.
    private struct Sealed: Sendable {
        let purpose: KeyPurpose
        let isRetiring: Bool
        let id: UInt64
        let place: String
    }

    let header: Header
    let names: SecretBytes
    let states: SecretBytes
    let journal: JournalKeys
    private let headerMACs: SecretBytes
    private let entries: [Entry]
    private let sealed: [Sealed]
    private let resident: ResidentKeys?

    var vaultID: [UInt8] { header.vaultID }
    var nameKeyID: UInt64 { header.nameKeyID }

    private init(
        header: Header, nameKey: SecretBytes, headerMACs: SecretBytes, entries: [Entry], resident: ResidentKeys?,
        in arena: SecretArena
    ) throws(TokenKeepError) {
        self.header = header
        names = try Subkey.ofNameKey(nameKey, for: .names, in: arena)
        states = try Subkey.ofNameKey(nameKey, for: .states, in: arena)
        journal = JournalKeys(
            versions: ItemVersionKey(key: try Subkey.ofNameKey(nameKey, for: .versions, in: arena)),
            fingerprints: try Subkey.ofNameKey(nameKey, for: .fingerprints, in: arena))
        self.headerMACs = headerMACs
        self.entries = entries
        self.resident = resident
        sealed = KeyHierarchy.sealed(header, but: entries)
    }

    private init(_ other: KeyHierarchy, with entries: [Entry]) {
        header = other.header
        names = other.names
        states = other.states
        journal = other.journal
        headerMACs = other.headerMACs
        resident = other.resident
        self.entries = other.entries + entries
        sealed = KeyHierarchy.sealed(header, but: self.entries)
    }

    /// Opens the hierarchy of a header file with the keyfile.
    ///
    /// - Parameter resident: where an unlock keeps keys; nil where only the keyfile counts.
    static func open(
        headerFile: [UInt8], keyfile: Keyfile, resident: ResidentKeys?, in arena: SecretArena
    ) throws(FormatFault) -> KeyHierarchy {
        let (header, mac) = try headerFile.lent { bytes throws(FormatFault) in try Header.parse(bytes) }
        guard header.vaultID == keyfile.vaultID else { throw .malformed("the keyfile belongs to another vault") }
        let wrapping = try FormatFault.needing { () throws(TokenKeepError) in
            try Subkey.keyfileWrapping(of: keyfile.key, in: arena)
        }
        let nameKeyData = WrappedKey.additionalData(
            vaultID: header.vaultID, slotType: KnownSlot.SlotType.keyfile.rawValue, slotID: 0, purpose: .name,
            isRetiring: false, id: header.nameKeyID)
        let nameKey = try header.nameKeyBox.lent { box throws(FormatFault) in
            try AuthenticatedBox.open(box, key: wrapping, data: nameKeyData, in: arena, "wrapped key")
        }
        let headerMACs = try FormatFault.needing { () throws(TokenKeepError) in
            try Subkey.ofNameKey(nameKey, for: .headerMAC, in: arena)
        }
        let expected = Header.mac(of: Array(headerFile.dropLast(Header.macLength)), key: headerMACs)
        guard sodium_memcmp(mac, expected, Header.macLength) == 0 else { throw .malformed("its MAC is wrong") }
        var entries: [Entry] = []
        for case .known(let slot) in header.slots where slot.type == .keyfile {
            entries += try slot.open(with: wrapping, vaultID: header.vaultID, in: arena)
        }
        return try FormatFault.needing { () throws(TokenKeepError) in
            try KeyHierarchy(
                header: header, nameKey: nameKey, headerMACs: headerMACs, entries: entries, resident: resident,
                in: arena)
        }
    }

    /// The same hierarchy with more keys open, for the length of an operation.
    func opened(with entries: [Entry]) -> KeyHierarchy { KeyHierarchy(self, with: entries) }

    /// The bytes of a header file of this vault.
    func file(of header: Header) -> [UInt8] {
        let body = header.serializedWithoutMAC()
        return body + Header.mac(of: body, key: headerMACs)
    }

    /// The key that a record names.
    func key(_ id: UInt64, for purpose: KeyPurpose) throws(FormatFault) -> SecretBytes {
        if let entry = entries.first(where: { $0.id == id && $0.purpose == purpose }) { return entry.key }
        guard let sealed = sealed.first(where: { $0.id == id && $0.purpose == purpose }) else { throw .unknownKey }
        return try resident(sealed)
    }

    /// The key that seals what is written now.
    func currentKey(for purpose: KeyPurpose) throws(FormatFault) -> Entry {
        if let entry = entries.first(where: { $0.purpose == purpose && !$0.isRetiring }) { return entry }
        guard let sealed = sealed.first(where: { $0.purpose == purpose && !$0.isRetiring }) else { throw .lockedKey }
        return Entry(purpose: purpose, isRetiring: false, id: sealed.id, key: try resident(sealed))
    }

    /// The id of the key that seals what is written now, which need not be open; nil where there is none.
    func currentKeyID(for purpose: KeyPurpose) -> UInt64? {
        header.slots.flatMap(\.keys).first { $0.purpose == purpose && !$0.isRetiring }?.id
    }

    /// Whether the current key of a purpose is there.
    func isOpen(_ purpose: KeyPurpose) -> Bool { (try? currentKey(for: purpose)) != nil }

    private func resident(_ sealed: Sealed) throws(FormatFault) -> SecretBytes {
        let key = try FormatFault.needing { () throws(TokenKeepError) in try resident?.key(at: sealed.place) }
        guard let key else { throw .lockedKey }
        return key
    }

    /// An item's file name, in binary.
    func fileName(of name: ItemName) -> [UInt8] {
        NameFormat.serialized(name).withUnsafeBytes { parts in
            names.withUnsafeBytes { KeyedHash.digest(of: parts, key: $0, count: 16) }
        }
    }

    private static func sealed(_ header: Header, but entries: [Entry]) -> [Sealed] {
        header.slots.flatMap(\.keys).filter { key in
            !entries.contains { $0.id == key.id && $0.purpose == key.purpose }
        }.map {
            Sealed(
                purpose: $0.purpose, isRetiring: $0.isRetiring, id: $0.id,
                place: ResidentKeys.place(of: $0.id, for: $0.purpose, header.vaultID))
        }
    }
}

extension Header {
    /// The MAC at the end of a header file.
    static func mac(of body: [UInt8], key: SecretBytes) -> [UInt8] {
        body.withUnsafeBytes { body in
            key.withUnsafeBytes { KeyedHash.digest(of: body, key: $0, count: macLength) }
        }
    }
}

extension Slot {
    /// The wrapped keys of a slot that this version knows.
    var keys: [WrappedKey] {
        guard case .known(let slot) = self else { return [] }
        return slot.keys
    }
}

extension KnownSlot {
    /// Opens every key of the slot.
    ///
    /// - Throws: ``FormatFault/malformed(_:)`` where the key-encryption key is another.
    func open(
        with wrapping: SecretBytes, vaultID: [UInt8], in arena: SecretArena
    ) throws(FormatFault) -> [KeyHierarchy.Entry] {
        var entries: [KeyHierarchy.Entry] = []
        for key in keys {
            let data = WrappedKey.additionalData(
                vaultID: vaultID, slotType: type.rawValue, slotID: id, purpose: key.purpose, isRetiring: key.isRetiring,
                id: key.id)
            let opened = try key.box.lent { box throws(FormatFault) in
                try AuthenticatedBox.open(box, key: wrapping, data: data, in: arena, "wrapped key")
            }
            entries.append(
                KeyHierarchy.Entry(purpose: key.purpose, isRetiring: key.isRetiring, id: key.id, key: opened))
        }
        return entries
    }

    /// A slot that wraps keys.
    static func wrapping(
        _ entries: [KeyHierarchy.Entry], type: SlotType, derivation: KeyDerivation, with wrapping: SecretBytes,
        vaultID: [UInt8]
    ) -> KnownSlot {
        let id = NewVault.randomID()
        let keys = entries.map { entry in
            let data = WrappedKey.additionalData(
                vaultID: vaultID, slotType: type.rawValue, slotID: id, purpose: entry.purpose,
                isRetiring: entry.isRetiring, id: entry.id)
            let box = entry.key.withUnsafeBytes { AuthenticatedBox.seal($0, key: wrapping, data: data) }
            return WrappedKey(purpose: entry.purpose, isRetiring: entry.isRetiring, id: entry.id, box: box)
        }
        return KnownSlot(type: type, id: id, derivation: derivation, createdAt: .now, keys: keys, extension: [])
    }
}
