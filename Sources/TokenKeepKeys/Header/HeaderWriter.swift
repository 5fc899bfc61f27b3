import SystemPackage
package import TokenKeepCore

/// Replaces a vault's header (the file with its encrypted keys), after a change that leaves the keys of items the same.
///
/// Such a change is a new password, a new recovery code, or the removal of retiring keys (replaced keys that no item
/// needs).
package struct HeaderWriter {
    /// The maximum time to wait for items that other processes have locked, in milliseconds.
    private static let patience: UInt32 = 30_000

    private let opener: VaultOpener

    package init(_ opener: VaultOpener) { self.opener = opener }

    /// Replaces both copies of the header under the lock of the whole vault.
    ///
    /// `header.2` is replaced before `header`, so that a reader always finds an intact copy, old or new.
    ///
    /// - Parameters:
    ///   - vault: the vault from whose header the new slots were computed.
    ///   - headerKey: the key that verifies MAC B of the header.
    ///   - keys: the open keys to keep in the kernel's keyring for later callers.
    ///   - limit: the lifetime of `keys` in seconds; nil for the usual lifetimes.
    ///   - check: called under the lock of the whole vault, before anything is written; may throw.
    /// - Throws: ``Status/conflict`` if another process has changed the header since `vault` was read.
    package func replace(
        of vault: OpenVault, slots: [Slot], headerKey: SecretBytes, keeping keys: [OpenKey], _ call: CallContext,
        expiringAfter limit: UInt32? = nil, check: () throws(TokenKeepError) -> Void = {}
    ) throws(TokenKeepError) -> OpenVault {
        let lock = try VaultLock(.whole, of: vault.directory, call.until(Deadline(milliseconds: HeaderWriter.patience)))
        defer { lock.release() }
        guard let present = try opener.inForce(headerKey), present.headerFile == vault.headerFile else {
            throw try wasAltered(vault, headerKey) ? HeaderTrust.refusal : VaultOpener.changedMeanwhile
        }
        try check()
        let header = try present.keys.header.with(slots: slots)
        let file = try file(of: header, present, headerKey)
        let tpm = try TPMChange(present, to: header, file: file, opener.residentKeys.devices)
        try setFailingAside(present, headerKey)
        // The lock of the verified headers is held while the header is replaced. Otherwise a concurrent unlock could
        // keep keys of the old header.
        try opener.lockingTrust(of: present.directory, call) { () throws(TokenKeepError) in
            for name in HeaderFiles.names.reversed() { try HeaderFiles.write(file, to: name, in: present.era) }
            try trust(header, file, headerKey, keeping: keys, expiringAfter: limit)
        }
        tpm.finish()
        guard let written = try opener.open(fresh: true) else {
            throw TokenKeepError(.io, "the vault vanished while its keys were changed", module: "vault")
        }
        return written
    }

    /// Whether the header of `vault` is still the present header, and was altered by somebody without the header key.
    private func wasAltered(_ vault: OpenVault, _ headerKey: SecretBytes) throws(TokenKeepError) -> Bool {
        guard try opener.openToUnlock()?.headerFile == vault.headerFile else { return false }
        return try !HeaderMAC.isRightB(vault.headerFile, headerKey: headerKey)
    }

    private func setFailingAside(_ present: OpenVault, _ headerKey: SecretBytes) throws(TokenKeepError) {
        let keyfile = try HeaderFiles.keyfile(of: present.era)
        for name in try HeaderFiles.failing(in: present.era, with: keyfile, headerKey, opener.residentKeys)
        where try VaultFiles.exists(name, in: present.era.descriptor) {
            try VaultFiles.setAside(name, in: present.era.descriptor)
        }
    }

    /// Encodes the new header, and checks that a reader would accept the bytes.
    private func file(
        of header: Header, _ present: OpenVault, _ headerKey: SecretBytes
    ) throws(TokenKeepError) -> [UInt8] {
        let file = try HeaderMAC.file(of: header, nameMAC: present.keys.headerMAC, headerKey: headerKey)
        do throws(FormatFault) {
            guard try file.lent({ bytes throws(FormatFault) in try Header.parse(bytes) }) == header else {
                throw .malformed("it reads otherwise")
            }
        } catch {
            throw TokenKeepError(.internal, "the vault's header would not be readable: \(error)", module: "vault")
        }
        return file
    }

    private func trust(
        _ header: Header, _ file: [UInt8], _ headerKey: SecretBytes, keeping keys: [OpenKey],
        expiringAfter limit: UInt32?
    ) throws(TokenKeepError) {
        guard header.hasPassword else { return }
        let entry = HeaderTrust.Entry(header, file: file, headerKey: headerKey)
        try opener.residentKeys.keep(
            keys, HeaderTrust(entries: [entry], path: try opener.path()), of: header.vaultID, expiringAfter: limit)
    }
}
