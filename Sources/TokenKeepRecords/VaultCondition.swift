import TokenKeepCore
import TokenKeepKeys

/// The condition of a vault, in sentences for the user.
struct VaultCondition {
    let records: Records

    /// Describes the vault's condition.
    ///
    /// - Throws: the error that makes the vault unusable.
    func remarks() throws(TokenKeepError) -> [String] {
        records.opener.residentKeys.removal.dropKeysOfLostVaults()
        guard let vault = try records.open() else {
            try records.checkMaking()
            return ["not made yet: the first save makes it"]
        }
        try records.testify(vault)
        var remarks = lockRemarks(vault.keys)
        for name in try HeaderFiles.missing(in: vault.era) {
            remarks.append("\(name), one of two copies of the keys, is missing")
        }
        let setAside = try VaultFiles.countSetAside(in: vault.records)
        if setAside > 0 { remarks.append("unreadable records that were set aside: \(setAside)") }
        return remarks
    }

    /// Describes the device that the vault is bound to.
    private func deviceRemarks(_ keys: KeyRing) -> [String] {
        guard let device = keys.header.device else { return [] }
        let fault = records.opener.residentKeys.devices.fault(of: device)
        let bound = "bound to this device (\(device.provider.word))"
        guard let fault else { return [bound] }
        return ["\(bound), but \(fault.reason): items of its levels stay locked (tokenkeep device show)"]
    }

    /// Describes whether the vault has a password, whether the vault is locked, and the vault's device and old keys.
    private func lockRemarks(_ keys: KeyRing) -> [String] {
        var remarks: [String] = []
        if keys.header.hasPassword {
            let isOpen = keys.isOpen(.level(.afterFirstUnlock))
            let all = keys.isOpen(.level(.whenUnlocked)) ? "" : " but for items of the level when-unlocked"
            remarks.append("protected by a password; \(isOpen ? "unlocked\(all)" : "locked")")
        } else {
            remarks.append("protected from other users; not from who has the disk (no password)")
        }
        remarks += deviceRemarks(keys)
        if keys.header.hasRetiringKeys {
            let command = keys.header.hasPassword ? "unlock" : "sync"
            remarks.append("other modules hold items under older keys: tokenkeep \(command) seals them anew")
        }
        return remarks
    }
}
