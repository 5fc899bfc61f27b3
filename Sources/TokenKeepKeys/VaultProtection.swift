package import TokenKeepCore

/// The present protection of a vault's items on this machine.
package struct VaultProtection {
    private enum Key {
        /// The keyfile, which is stored beside the records, opens the vault's keys.
        case keyfile
        /// Only the password opens the vault's keys.
        case password
    }

    private let key: Key
    /// The reason why keys cannot be kept in the kernel's keyring; nil if they can be kept there.
    private let keyringObstacle: String?
    private let isMemoryLocked: Bool
    private let residentKeys: ClassKeyStore
    private let vault: OpenVault?

    /// - Parameter vault: the open vault; nil if there is no vault.
    package init(_ vault: OpenVault?, _ residentKeys: ClassKeyStore) {
        key = vault?.keys.header.hasPassword == true ? .password : .keyfile
        keyringObstacle = residentKeys.knownObstacle
        self.residentKeys = residentKeys
        self.vault = vault
        isMemoryLocked = (try? GuardedPool.shared.isLocked()) ?? false
    }

    /// Computes the protection of an item with this level and these flags. Does not try the kernel's keyring again.
    package func protection(of level: AccessLevel, _ flags: ItemFlags) -> Protection {
        Protection { axis($0, level, flags) }
    }

    private static let setPassword = "give the vault a password: tokenkeep password set"

    private func axis(_ axis: ProtectionAxis, _ level: AccessLevel, _ flags: ItemFlags) -> Protection.Axis {
        switch axis {
        case .otherUser: otherUser
        case .diskTheft: level == .whenPasscodeSetThisDeviceOnly ? diskTheftAndOlderHeader : diskTheft
        case .otherMachine: level.needsDevice ? ofDevice(level) : otherMachine
        case .screenLock: screenLock(level)
        case .presence: presence(flags)
        }
    }

    private var otherUser: Protection.Axis {
        switch (key, keyringObstacle) {
        case (.keyfile, _): Protection.Axis(.enforced, "files that the user alone may open")
        case (_, nil):
            Protection.Axis(.enforced, "files of the user alone, and a key in the kernel that only the user may read")
        case (_, _?): Protection.Axis(.enforced, "files of the user alone, and a key in this process's memory")
        }
    }

    private var diskTheft: Protection.Axis {
        switch key {
        case .keyfile:
            return Protection.Axis(.none, "the keyfile lies beside the records", remedy: VaultProtection.setPassword)
        case .password:
            guard isMemoryLocked else {
                return Protection.Axis(
                    .advisory, "the password opens the key, but this process's memory may leave it in the swap space",
                    remedy: "raise the limit that ulimit -l shows")
            }
            return Protection.Axis(.enforced, "only the password opens the key, and no backup holds it in the clear")
        }
    }

    /// The protection of ``AccessLevel/whenPasscodeSetThisDeviceOnly`` against theft of the disk.
    ///
    /// As long as the device has the secret, an older header and its password open the level on this machine.
    private var diskTheftAndOlderHeader: Protection.Axis {
        let given = diskTheft
        guard given.strength == .enforced, let header = vault?.keys.header else { return given }
        guard header.isDestructible(.whenPasscodeSetThisDeviceOnly) else {
            return Protection.Axis(
                .advisory,
                "only the password opens the key, but an older header with an older password opens it on this machine: "
                    + "the secret lies in no index of a TPM",
                remedy: header.device?.provider == .tpm2
                    ? "make room in the TPM or take its owner password away, then: tokenkeep password change"
                    : "a TPM: tokenkeep device re-bind tpm2")
        }
        return Protection.Axis(
            .enforced, "only the password opens the key, and its removal destroys the TPM's part of the key")
    }

    private var otherMachine: Protection.Axis {
        switch key {
        case .keyfile: Protection.Axis(.none, "a copy of the home opens anywhere")
        case .password: Protection.Axis(.none, "a copy of the home opens anywhere with the password")
        }
    }

    /// The protection of a level that needs a device, against the use of a copy on another machine.
    private func ofDevice(_ level: AccessLevel) -> Protection.Axis {
        guard let keys = vault?.keys, let device = keys.header.device else { return otherMachine }
        // In a vault with a password, an open key shows that the device has answered. Without an open key or a
        // password, query the device.
        let isOpen = keys.header.hasPassword && keys.isOpen(.level(level))
        if !isOpen, let fault = residentKeys.devices.fault(of: device) {
            return Protection.Axis(
                .advisory, "items of the level stay locked: \(fault.reason)", remedy: "tokenkeep device show")
        }
        switch device.provider {
        case .machineKey:
            return Protection.Axis(
                .advisory, "a copy of the home opens on no other machine; a copy of the whole disk does")
        case .tpm2:
            return Protection.Axis(.enforced, "a copy opens on no other machine: the key needs this machine's TPM")
        case .systemd:
            return Protection.Axis(
                .enforced, "a copy opens on no other machine: systemd opens the key with this machine's TPM")
        }
    }

    private func screenLock(_ level: AccessLevel) -> Protection.Axis {
        guard level.endsWithScreen else {
            return Protection.Axis(.none, "the level stays readable while the screen is locked")
        }
        guard key != .keyfile else {
            return Protection.Axis(.none, "the keyfile opens the key at any time", remedy: VaultProtection.setPassword)
        }
        if let keyringObstacle {
            return Protection.Axis(
                .none, "the key is in this process's memory alone: \(keyringObstacle)",
                remedy: "let the user keep keys in the kernel's keyring")
        }
        return VaultProtection.screenLock(
            residentKeys.keyAgent(), isReadableWithoutAgent: isReadableWithoutAgent(level))
    }

    /// Whether the kernel has a key of this level that an unlock without an agent put there.
    private func isReadableWithoutAgent(_ level: AccessLevel) -> Bool {
        guard let keys = vault?.keys else { return false }
        let purpose = KeyPurpose.level(level)
        let ids = keys.header.listedKeys.filter { $0.purpose == purpose }.map(\.id)
        return residentKeys.isReadableWithoutAgent(ids, for: purpose, of: keys.vaultID)
    }

    private func presence(_ flags: ItemFlags) -> Protection.Axis {
        guard key != .keyfile else {
            return Protection.Axis(.none, "the vault has no password to ask for", remedy: VaultProtection.setPassword)
        }
        guard flags.contains(.userPresence) else {
            return Protection.Axis(.none, "the item does not ask", remedy: "save it with user presence")
        }
        return Protection.Axis(.enforced, "each use asks for the password, from which half of the key is derived anew")
    }
}
