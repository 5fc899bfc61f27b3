import TokenKeepCore

/// The TPM's NV indices, which are memory in the TPM. Destroying an index destroys its content (docs/device-helper.md).
extension TPM {
    /// The purpose of an index.
    enum IndexKind: UInt8, Sendable {
        /// A secret, which is written once.
        case deviceBytes = 1
        /// The vault's anchor, which is rewritten when the vault's header changes.
        case anchor = 2
    }

    /// The owner of an index: the TPM's storage primary, the kind of the index, and the vault.
    struct IndexOwner: Sendable {
        /// The name of the TPM's storage primary. A TPM with another primary receives neither authValue nor data.
        let name: [UInt8]
        let kind: IndexKind
        let vaultID: [UInt8]

        fileprivate var tag: Field { .plain([kind.rawValue] + vaultID) }
    }

    /// An entry of the TPM's list of the user's indices.
    struct Index: Equatable, Sendable {
        let number: UInt32
        let kind: IndexKind
        let vaultID: [UInt8]
        /// Whether the index was written and, if it contains a secret, write-locked. If false, its making was interrupted.
        let isComplete: Bool
    }

    private static let entryLength = 22

    /// Makes an index that contains `data`.
    ///
    /// - Returns: the number of the index; nil if the TPM can make no index.
    func makeIndex(
        of owner: IndexOwner, _ data: SecretBytes, authValue: SecretBytes, until deadline: Deadline
    ) throws(DeviceFault) -> UInt32? {
        let fields: [Field] = [.plain(owner.name), .secret(authValue), owner.tag, .secret(data)]
        let reply = try ask(.makeIndex, fields, until: deadline)
        guard !TPMReply.deniesIndex(reply) else { return nil }
        return try TPMReply.payload(of: reply) { payload throws(DeviceFault) in
            guard payload.count == 4 else { throw TPMReply.malformed }
            return TPMReply.integer(payload)
        }
    }

    /// Reads the content of an index.
    ///
    /// - Parameter length: the length that the content must have, in bytes.
    /// - Throws: ``TPMReply/noIndex`` if the owner has no such index.
    func readIndex(
        _ number: UInt32, of owner: IndexOwner, _ length: Int, authValue: SecretBytes, until deadline: Deadline
    ) throws(DeviceFault) -> SecretBytes {
        let fields: [Field] = [.plain(owner.name), .secret(authValue), owner.tag, .plain(TPM.bytes(of: number))]
        let reply = try ask(.readIndex, fields, until: deadline)
        return try TPMReply.payload(of: reply) { payload throws(DeviceFault) in
            guard payload.count == length else { throw TPMReply.malformed }
            return try DeviceFault.needing { () throws(TokenKeepError) in
                try SecretBytes(copying: UnsafeRawBufferPointer(rebasing: payload))
            }
        }
    }

    /// Replaces the content of an index by data of the same length.
    func writeIndex(
        _ number: UInt32, of owner: IndexOwner, _ data: SecretBytes, authValue: SecretBytes, until deadline: Deadline
    ) throws(DeviceFault) {
        let place = [Field.plain(owner.name), .secret(authValue), owner.tag, .plain(TPM.bytes(of: number))]
        try TPMReply.payload(of: try ask(.writeIndex, place + [.secret(data)], until: deadline)) {
            _ throws(DeviceFault) in
        }
    }

    /// Destroys an index and its content. Does nothing if the owner has no such index.
    func destroyIndex(_ number: UInt32, of owner: IndexOwner, until deadline: Deadline) throws(DeviceFault) {
        let reply = try ask(
            .destroyIndex, [.plain(owner.name), owner.tag, .plain(TPM.bytes(of: number))], until: deadline)
        do throws(DeviceFault) {
            try TPMReply.payload(of: reply) { _ throws(DeviceFault) in }
        } catch {
            switch error {
            case TPMReply.noIndex: return
            case TPMReply.ownerPassword: throw DeviceFault(.absent, "the TPM has an owner password")
            default: throw error
            }
        }
    }

    /// Lists the user's indices that belong to a vault.
    func indices(of vaultID: [UInt8], until deadline: Deadline) throws(DeviceFault) -> [Index] {
        try indices(until: deadline).filter { $0.vaultID == vaultID }
    }

    /// Lists all indices of the user.
    func indices(until deadline: Deadline) throws(DeviceFault) -> [Index] {
        let reply = try ask(.listIndices, [], until: deadline)
        return try TPMReply.payload(of: reply, unknownUser: TPMReply.unknownUser) { payload throws(DeviceFault) in
            guard payload.count % TPM.entryLength == 0 else { throw TPMReply.malformed }
            return stride(from: 0, to: payload.count, by: TPM.entryLength).compactMap { offset in
                TPM.index(payload.dropFirst(offset).prefix(TPM.entryLength))
            }
        }
    }

    /// Parses an entry of the list; nil if the index's kind is unknown.
    private static func index(_ entry: Slice<UnsafeRawBufferPointer>) -> Index? {
        let bytes = Array(entry)
        guard let kind = IndexKind(rawValue: bytes[4]) else { return nil }
        return Index(
            number: TPMReply.integer(entry.prefix(4)), kind: kind, vaultID: Array(bytes[6...]),
            isComplete: bytes[5] == (kind == .deviceBytes ? 3 : 1))
    }

    private static func bytes(of number: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
    }
}
