import TokenKeepCore

/// The vault's anchor in an NV index of the TPM, which names the header in force, whatever the vault's files contain.
///
/// A header is refused only because of an authenticated answer of the TPM. A program on the wire to the TPM can forge
/// errors and suppress answers, but such an error refuses no header.
struct TPMAnchor {
    /// The anchor that the TPM has, and the number of its index.
    struct Found {
        let number: UInt32
        /// The anchor; nil if the content of the index is malformed.
        let anchor: HeaderAnchor?
    }

    private let tpm: TPM
    private let owner: TPM.IndexOwner
    private let authValue: SecretBytes

    /// - Parameter keys: the vault's keys. The authValue derives from the journal key, which is the same in every era.
    /// - Returns: nil if the device is no TPM.
    init?(of device: DeviceIdentity?, _ keys: KeyRing, _ devices: Devices) throws(TokenKeepError) {
        guard let device, device.provider == .tpm2 else { return nil }
        tpm = devices.tpm
        owner = TPM.IndexOwner(name: device.name, kind: .anchor, vaultID: keys.vaultID)
        // The authValue is the same for each primary of a TPM, so that a vault can be bound to another primary.
        authValue = try Subkey.ofJournalKey(keys.journalKey.bytes, for: .anchor)
    }

    var name: [UInt8] { owner.name }

    /// Reads the anchor. Returns nil if the TPM has no anchor.
    func read(until deadline: Deadline = Devices.deadline) throws(DeviceFault) -> Found? {
        guard let number = try number(until: deadline) else { return nil }
        let bytes = try tpm.readIndex(number, of: owner, HeaderAnchor.length, authValue: authValue, until: deadline)
        let anchor = try? bytes.withUnsafeBytes { bytes throws(FormatFault) in try HeaderAnchor.parse(bytes) }
        return Found(number: number, anchor: anchor?.vaultID == owner.vaultID ? anchor : nil)
    }

    /// Whether the TPM has an anchor of the vault. Does not read the anchor.
    func isThere(until deadline: Deadline) throws(DeviceFault) -> Bool { try number(until: deadline) != nil }

    /// Writes the anchor into its index, or into a new index if `number` is nil.
    ///
    /// - Returns: the number of the index; nil if the TPM can make no index.
    func write(_ anchor: HeaderAnchor, to number: UInt32?) throws(DeviceFault) -> UInt32? {
        let data = try DeviceFault.needing { () throws(TokenKeepError) in
            try anchor.serialized().lent { bytes throws(TokenKeepError) in try SecretBytes(copying: bytes) }
        }
        guard let number else {
            return try tpm.makeIndex(of: owner, data, authValue: authValue, until: Devices.deadline)
        }
        try tpm.writeIndex(number, of: owner, data, authValue: authValue, until: Devices.deadline)
        return number
    }

    /// Destroys the anchor. A failure is ignored.
    ///
    /// - Parameter kept: the number of the index with the new header's anchor, which is not destroyed; nil if there is
    ///   none.
    func destroy(except kept: UInt32?) {
        guard let number = (try? number(until: Devices.deadline)) ?? nil, number != kept else { return }
        try? tpm.destroyIndex(number, of: owner, until: Devices.deadline)
    }

    private func number(until deadline: Deadline) throws(DeviceFault) -> UInt32? {
        try tpm.indices(of: owner.vaultID, until: deadline).first { $0.kind == .anchor && $0.isComplete }?.number
    }
}

// MARK: Reports

/// The last observed state of a vault's anchor in the TPM, which is reused until `end`.
struct AnchorReport: Sendable {
    let vaultID: [UInt8]
    let remark: String
    let end: Deadline
}

extension Devices {
    /// A remark for a report: whether the TPM refuses an older header of the vault.
    ///
    /// A result is reused for five seconds. Nil if the vault has no password or is not bound to a TPM.
    package func anchorRemark(of vault: OpenVault) -> String? {
        let (header, vaultID) = (vault.keys.header, vault.keys.vaultID)
        guard header.hasPassword, let anchor = (try? TPMAnchor(of: header.device, vault.keys, self)) ?? nil else {
            return nil
        }
        if let last = lastAnchor.withLock({ $0 }), last.vaultID == vaultID, !last.end.hasPassed { return last.remark }
        var remark = "; the TPM refuses an older header"
        do throws(DeviceFault) {
            if try !anchor.isThere(until: Devices.deadline) {
                remark = Devices.unanchored + "no index has the vault's anchor"
            }
        } catch {
            remark = Devices.unanchored + error.reason
        }
        let report = AnchorReport(vaultID: vaultID, remark: remark, end: Deadline(milliseconds: 5000))
        lastAnchor.withLock { $0 = report }
        return remark
    }

    private static let unanchored = "; after a restart an older header is not noticed: "
}

/// Updates the anchor in the TPM when the header changes. The caller holds the lock of the whole vault.
///
/// The anchor names both headers until the new header is in force, so that the change may be interrupted at any step.
struct AnchorChange {
    private let before: TPMAnchor?
    private let after: TPMAnchor?
    private let present: HeaderAnchor.Mark
    private let next: HeaderAnchor.Mark
    private let vaultID: [UInt8]

    init(
        _ vault: OpenVault, to header: Header, file: [UInt8], _ devices: Devices
    ) throws(TokenKeepError) {
        before = try TPMAnchor(of: vault.keys.header.device, vault.keys, devices)
        after = try TPMAnchor(of: header.device, vault.keys, devices)
        present = HeaderAnchor.Mark(vault.keys.header, file: vault.headerFile)
        next = HeaderAnchor.Mark(header, file: file)
        vaultID = vault.keys.vaultID
    }

    /// Records in the anchor that the new header is about to come into force.
    ///
    /// - Returns: the number of the anchor's index; nil if there is no anchor.
    /// - Throws: ``Status/unavailable`` if the TPM does not answer, because the TPM would later refuse the new header;
    ///   ``Status/corrupt`` if the TPM refuses the old header.
    func begin() throws(TokenKeepError) -> UInt32? {
        guard let after else { return nil }
        do throws(DeviceFault) {
            let found = try after.read()
            // The content of an index that an earlier binding left behind does not describe the present header, and is
            // ignored.
            if before?.name == after.name, found?.anchor?.accepts(present) == false { throw AnchorChange.older }
            let anchor = HeaderAnchor(vaultID: vaultID, present: present, next: next)
            return try after.write(anchor, to: found?.number)
        } catch {
            throw error == AnchorChange.older ? VaultOpener.anchorRefusal : error.error
        }
    }

    private static let older = DeviceFault(.other, "the TPM knows a later header")

    /// Records in the anchor that the new header is in force. If the TPM does not answer, the anchor still names both
    /// headers.
    func finish(_ number: UInt32?) {
        if let after, let number {
            _ = try? after.write(HeaderAnchor(vaultID: vaultID, present: next, next: nil), to: number)
        }
        if let before, before.name != after?.name { before.destroy(except: number) }
    }
}

extension VaultOpener {
    /// Checks a vault's header against its anchor in the TPM.
    ///
    /// - Parameter isAcceptingOlder: whether to accept an older header, which the user put back, as the header in force.
    /// - Throws: ``Status/corrupt`` if the TPM knows a later header that this call does not accept.
    func checkAnchor(
        of vault: OpenVault, isAcceptingOlder: Bool, until deadline: Deadline
    ) throws(TokenKeepError) {
        guard let anchor = try TPMAnchor(of: vault.keys.header.device, vault.keys, residentKeys.devices),
            let found = (try? anchor.read(until: deadline)) ?? nil, let known = found.anchor
        else { return }
        let mark = HeaderAnchor.Mark(vault.keys.header, file: vault.headerFile)
        guard mark != known.present else { return }
        guard known.next == mark || isAcceptingOlder else { throw VaultOpener.anchorRefusal }
        confirm(anchor, mark, vault)
    }

    /// Records in the anchor that a header is in force, unless another process is changing the header.
    private func confirm(_ anchor: TPMAnchor, _ mark: HeaderAnchor.Mark, _ vault: OpenVault) {
        guard let lock = (try? VaultLock(trying: .whole, of: vault.directory)) ?? nil else { return }
        defer { lock.release() }
        guard let present = (try? open(fresh: true)) ?? nil, present.headerFile == vault.headerFile,
            let found = (try? anchor.read()) ?? nil
        else { return }
        _ = try? anchor.write(HeaderAnchor(vaultID: vault.keys.vaultID, present: mark, next: nil), to: found.number)
    }

    static let anchorRefusal = TokenKeepError(
        .corrupt, HeaderTrust.refusal.message, module: "vault",
        hint:
            "nothing was changed; the TPM knows a later header: put the vault's own files back, current and the era that it "
            + "names. After you restored an older copy yourself: tokenkeep unlock --accept-older-header")
}
