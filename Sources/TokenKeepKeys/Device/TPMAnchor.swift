import TokenKeepCore

/// The vault's anchor in an NV index of the TPM: which header is in force, whatever the vault's files say.
///
/// The TPM's answer counts only if it is authentic: a program on the wire that forges a refusal, or answers nothing, gets no
/// header refused.
struct TPMAnchor {
    /// The anchor as the TPM has it, and the number of its index.
    struct Found {
        let number: UInt32
        /// nil if the content is malformed.
        let anchor: HeaderAnchor?
    }

    private let tpm: TPM
    private let owner: TPM.IndexOwner
    private let authValue: SecretBytes

    /// - Parameter keys: the keys of the vault. Its keyfile opens the anchor, in every era.
    /// - Returns: nil if the device is no TPM.
    init?(of device: DeviceIdentity?, _ keys: KeyRing, _ devices: Devices) throws(TokenKeepError) {
        guard let device, device.provider == .tpm2 else { return nil }
        tpm = devices.tpm
        owner = TPM.IndexOwner(name: device.name, kind: .anchor, vaultID: keys.vaultID)
        // The same for each primary of a TPM, so that a vault can be bound to another one.
        authValue = try Subkey.ofJournalKey(keys.journalKey.bytes, for: .anchor)
    }

    var name: [UInt8] { owner.name }

    /// Reads the anchor; nil if the TPM has none.
    func read(until deadline: Deadline = Devices.deadline) throws(DeviceFault) -> Found? {
        guard let number = try number(until: deadline) else { return nil }
        let bytes = try tpm.readIndex(number, of: owner, HeaderAnchor.length, authValue: authValue, until: deadline)
        let anchor = try? bytes.withUnsafeBytes { bytes throws(FormatFault) in try HeaderAnchor.parse(bytes) }
        return Found(number: number, anchor: anchor?.vaultID == owner.vaultID ? anchor : nil)
    }

    /// Whether the TPM has an anchor of the vault. Reads no content.
    func isThere(until deadline: Deadline) throws(DeviceFault) -> Bool { try number(until: deadline) != nil }

    /// Writes the anchor into its index, or into a new one.
    ///
    /// - Returns: the number of the index; nil if the TPM has none and can make none.
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

    /// Destroys the anchor, as far as the TPM answers.
    ///
    /// - Parameter kept: the number of the index that the new header uses.
    func destroy(except kept: UInt32?) {
        guard let number = (try? number(until: Devices.deadline)) ?? nil, number != kept else { return }
        try? tpm.destroyIndex(number, of: owner, until: Devices.deadline)
    }

    private func number(until deadline: Deadline) throws(DeviceFault) -> UInt32? {
        try tpm.indices(of: owner.vaultID, until: deadline).first { $0.kind == .anchor && $0.isComplete }?.number
    }
}

// MARK: Reports

/// Whether the TPM has a vault's anchor, as it was asked last. Valid for a while.
struct AnchorReport: Sendable {
    let vaultID: [UInt8]
    let remark: String
    let end: Deadline
}

extension Devices {
    /// A remark for a report: whether the TPM refuses an older header of the vault; nil if the vault has no password or is
    /// bound to no TPM.
    ///
    /// The TPM is asked once in five seconds.
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

/// A change of the header, as the anchor in the TPM follows it. The caller holds the lock of the whole vault.
///
/// The anchor names both headers until the new one is in force, so that a change may be interrupted at any step.
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

    /// Notes that the new header is about to be in force.
    ///
    /// - Returns: the number of the anchor's index; nil if there is no anchor.
    /// - Throws: ``Status/unavailable`` if the TPM does not answer: it would refuse the new header later.
    ///   ``Status/corrupt`` if it refuses the old header.
    func begin() throws(TokenKeepError) -> UInt32? {
        guard let after else { return nil }
        do throws(DeviceFault) {
            let found = try after.read()
            // An index that an earlier binding left says nothing of the present header.
            if before?.name == after.name, found?.anchor?.accepts(present) == false { throw AnchorChange.older }
            let anchor = HeaderAnchor(vaultID: vaultID, present: present, next: next)
            return try after.write(anchor, to: found?.number)
        } catch {
            throw error == AnchorChange.older ? VaultOpener.anchorRefusal : error.error
        }
    }

    private static let older = DeviceFault(.other, "the TPM knows a later header")

    /// Notes that the new header is in force, as far as the TPM answers. If it does not, the anchor names both.
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
    /// - Parameter isAcceptingOlder: whether an older header, which the user put back, is the one in force from now on.
    /// - Throws: ``Status/corrupt`` if the TPM knows a later header.
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

    /// Writes into the anchor that a header is in force, unless another process is changing it.
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
