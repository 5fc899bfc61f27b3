import CSodium
import TokenKeepCore

/// The keys of a vault, as far as they are open. Never changes: a changed header makes another.
final class KeyHierarchy: Sendable {
    /// A class key or the metadata key, with its place in the hierarchy.
    struct Entry: Sendable {
        let purpose: KeyPurpose
        let isRetiring: Bool
        let id: UInt64
        let key: SecretBytes
    }

    let vaultID: [UInt8]
    let nameKeyID: UInt64
    let names: SecretBytes
    let states: SecretBytes
    let journal: JournalKeys
    private let entries: [Entry]
    /// The keys that stand in slots, opened or not.
    private let wrapped: [WrappedKey]

    private init(header: Header, nameKey: SecretBytes, entries: [Entry], in arena: SecretArena) throws(TokenKeepError) {
        vaultID = header.vaultID
        nameKeyID = header.nameKeyID
        names = try Subkey.ofNameKey(nameKey, for: .names, in: arena)
        states = try Subkey.ofNameKey(nameKey, for: .states, in: arena)
        journal = JournalKeys(
            versions: ItemVersionKey(key: try Subkey.ofNameKey(nameKey, for: .versions, in: arena)),
            fingerprints: try Subkey.ofNameKey(nameKey, for: .fingerprints, in: arena))
        self.entries = entries
        wrapped = header.slots.flatMap(\.keys)
    }

    /// Opens the hierarchy of a header file with the keyfile.
    static func open(
        headerFile: [UInt8], keyfile: Keyfile, in arena: SecretArena
    ) throws(FormatFault) -> KeyHierarchy {
        let (header, mac) = try headerFile.lent { bytes throws(FormatFault) in try Header.parse(bytes) }
        guard header.vaultID == keyfile.vaultID else { throw .malformed("the keyfile belongs to another vault") }
        let wrapping = try FormatFault.needing { () throws(TokenKeepError) in
            try Subkey.keyfileWrapping(of: keyfile.key, in: arena)
        }
        let nameKey = try open(
            header.nameKeyBox, of: .nameKey(header), with: wrapping, vaultID: header.vaultID, in: arena)
        let expected = try FormatFault.needing { () throws(TokenKeepError) in
            try headerMAC(of: headerFile.dropLast(Header.macLength), nameKey: nameKey, in: arena)
        }
        guard sodium_memcmp(mac, expected, Header.macLength) == 0 else { throw .malformed("its MAC is wrong") }
        var entries: [Entry] = []
        for case .known(let slot) in header.slots where slot.type == .keyfile {
            for key in slot.keys {
                let opened = try open(key.box, of: .key(key, slot), with: wrapping, vaultID: header.vaultID, in: arena)
                entries.append(Entry(purpose: key.purpose, isRetiring: key.isRetiring, id: key.id, key: opened))
            }
        }
        return try FormatFault.needing { () throws(TokenKeepError) in
            try KeyHierarchy(header: header, nameKey: nameKey, entries: entries, in: arena)
        }
    }

    /// The MAC at the end of a header file.
    static func headerMAC(
        of bytes: some Collection<UInt8>, nameKey: SecretBytes, in arena: SecretArena
    ) throws(TokenKeepError) -> [UInt8] {
        let key = try Subkey.ofNameKey(nameKey, for: .headerMAC, in: arena)
        return Array(bytes).withUnsafeBytes { bytes in
            key.withUnsafeBytes { KeyedHash.digest(of: bytes, key: $0, count: Header.macLength) }
        }
    }

    /// The key that a record names.
    func key(_ id: UInt64, for purpose: KeyPurpose) throws(FormatFault) -> SecretBytes {
        if let entry = entries.first(where: { $0.id == id && $0.purpose == purpose }) { return entry.key }
        throw wrapped.contains { $0.id == id && $0.purpose == purpose } ? .lockedKey : .unknownKey
    }

    /// The key that seals what is written now.
    func currentKey(for purpose: KeyPurpose) throws(FormatFault) -> Entry {
        guard let entry = entries.first(where: { $0.purpose == purpose && !$0.isRetiring }) else { throw .lockedKey }
        return entry
    }

    /// An item's file name, in binary.
    func fileName(of name: ItemName) -> [UInt8] {
        var parts = LengthPrefixedBytes()
        parts.append(name.namespace.utf8)
        parts.append(name.service.utf8)
        parts.append(name.account.utf8)
        return parts.bytes.withUnsafeBytes { parts in
            names.withUnsafeBytes { KeyedHash.digest(of: parts, key: $0, count: 16) }
        }
    }

    private enum Place {
        case nameKey(Header)
        case key(WrappedKey, KnownSlot)
    }

    private static func open(
        _ box: [UInt8], of place: Place, with wrapping: SecretBytes, vaultID: [UInt8], in arena: SecretArena
    ) throws(FormatFault) -> SecretBytes {
        let data =
            switch place {
            case .nameKey(let header):
                WrappedKey.additionalData(
                    vaultID: vaultID, slotType: KnownSlot.SlotType.keyfile.rawValue, slotID: 0, purpose: .name,
                    isRetiring: false, id: header.nameKeyID)
            case .key(let key, let slot):
                WrappedKey.additionalData(
                    vaultID: vaultID, slotType: slot.type.rawValue, slotID: slot.id, purpose: key.purpose,
                    isRetiring: key.isRetiring, id: key.id)
            }
        return try box.lent { box throws(FormatFault) in
            try AuthenticatedBox.open(box, key: wrapping, data: data, in: arena, "wrapped key")
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
