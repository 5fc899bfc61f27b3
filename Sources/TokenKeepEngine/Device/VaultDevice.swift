package import TokenKeepCore
package import TokenKeepKeys
import TokenKeepRecords

/// The device to which a vault is bound, as `tokenkeep device show` prints it.
package struct DeviceReport: Sendable {
    /// The device to which the vault is bound; nil if the vault is bound to no device.
    package let device: DeviceIdentity?
    /// The devices of this machine, and the fault for which the vault's device does not open its keys.
    package let survey: Devices.Survey
    /// Whether the recovery code also opens the levels that need the device; nil if there is no recovery code.
    package let isRecoverable: Bool?
}

/// The device to which a store's vault is bound.
package struct VaultDevice: Sendable {
    let store: Store
    private var records: Records { store.records }
    private var keyChange: KeyChange { KeyChange(store: store) }

    /// Describes the device to which the vault is bound. Queries all devices of this machine.
    package func report() throws(TokenKeepError) -> DeviceReport {
        let header = try records.open()?.keys.header
        let device = header?.device
        return DeviceReport(
            device: device, survey: records.opener.residentKeys.devices.survey(for: device),
            isRecoverable: header?.isRecoverable)
    }

    /// The device to which the vault is bound; nil if it is bound to none. Queries no device.
    package func identity() throws(TokenKeepError) -> DeviceIdentity? { try records.open()?.keys.header.device }

    /// Whether the TPM provided no index for the level ``AccessLevel/whenPasscodeSetThisDeviceOnly``. Queries no
    /// device.
    package func lacksIndex() throws(TokenKeepError) -> Bool { try records.open()?.keys.header.lacksIndex == true }

    /// Whether the recovery code also opens the levels that need the device; nil if there is no recovery code. Queries
    /// no device.
    package func isRecoverable() throws(TokenKeepError) -> Bool? { try records.open()?.keys.header.isRecoverable }

    /// Binds the vault to a device of this machine, so that items of the this-device-only levels can be saved.
    ///
    /// - Parameters:
    ///   - provider: the kind of device; nil for the first kind that this machine has.
    ///   - password: provides the vault's password. Called only if the vault has a password.
    /// - Returns: the device's provider, and the fault of a better device that was not used.
    /// - Throws: ``Status/duplicate`` if the vault is already bound to a device; ``Status/unavailable`` if this machine
    ///   has no such device.
    package func choose(
        _ provider: DeviceProvider?, password: () throws(TokenKeepError) -> SecretBytes
    ) throws(TokenKeepError) -> (provider: DeviceProvider, passedOver: DeviceFault?) {
        let call = try keyChange.begin()
        let vault = try records.openOrMake(call)
        try records.testify(vault)
        if let device = vault.keys.header.device {
            throw TokenKeepError(
                .duplicate, "the vault is bound to a device already (\(device.provider.word))", module: "vault",
                hint: "tokenkeep device re-bind")
        }
        let found = try device(of: provider)
        _ = try bind(open(vault, password, call), to: found.device, call)
        records.announceChange()
        return (found.device.provider, found.passedOver)
    }

    /// Binds the vault to another device of this machine.
    ///
    /// If the old device answers, the levels that need it get new keys, and no item is lost. If the old device does not
    /// answer, the items of these levels are lost.
    ///
    /// - Parameters:
    ///   - isDestroying: whether to destroy the items that only the old device opens.
    ///   - lost: called with the names of the lost items and the device's fault, if the old device does not answer.
    /// - Throws: ``Status/policy`` if items would be lost and `isDestroying` is false.
    package func rebind(
        _ provider: DeviceProvider?, isDestroying: Bool, password: () throws(TokenKeepError) -> SecretBytes,
        lost: ([ItemName], DeviceFault) -> Void, progress: JournalProgress? = nil
    ) throws(TokenKeepError) -> (provider: DeviceProvider, passedOver: DeviceFault?, outcome: UnlockOutcome) {
        let call = try keyChange.begin()
        guard let vault = try records.open(), let before = vault.keys.header.device else {
            throw TokenKeepError(
                .unsupported, "the vault is bound to no device", module: "vault", hint: "tokenkeep device choose")
        }
        try records.testify(vault)
        let found = try device(of: provider)
        let opened = try open(vault, password, call)
        var outcome = try rebind(opened, to: found.device, isDestroying, lost, call, progress)
        if before.provider == .tpm2, let present = try? records.open() {
            outcome.remainingIndices = records.opener.residentKeys.devices.remainingIndices(of: present)
        }
        return (found.device.provider, found.passedOver, outcome)
    }

    /// A vault opened by its password or, without a password, by its keyfile.
    private struct Opened {
        let unlocked: UnlockedVault
        /// The password; nil if the vault has none.
        let password: SecretBytes?
    }

    private func open(
        _ vault: OpenVault, _ password: () throws(TokenKeepError) -> SecretBytes, _ call: CallContext
    ) throws(TokenKeepError) -> Opened {
        guard vault.keys.header.hasPassword else {
            return Opened(unlocked: try UnlockedVault(withoutPassword: vault), password: nil)
        }
        let secret = try password()
        return Opened(
            unlocked: try PasswordSlots(records.opener).open(.password, with: secret, vault, call), password: secret)
    }

    private func rebind(
        _ opened: Opened, to device: DeviceIdentity, _ isDestroying: Bool, _ lost: ([ItemName], DeviceFault) -> Void,
        _ call: CallContext, _ progress: JournalProgress?
    ) throws(TokenKeepError) -> UnlockOutcome {
        let unlocked = opened.unlocked
        guard let fault = unlocked.deviceFault else { return try rotate(opened, to: device, call, progress) }
        let items = ProtectedItems(store: store, unlocked: unlocked, loss: unlocked.lacksIndexAlone ? .index : .device)
        lost(try items.names(call), fault)
        if !isDestroying { try items.refuse() }
        if opened.password != nil { try PasswordSlots(records.opener).keep(unlocked, call) }
        try items.destroy(call)
        if unlocked.lacksIndexAlone {
            let accepting = Opened(unlocked: unlocked.acceptingLostIndex, password: opened.password)
            return try rotate(accepting, to: device, call, progress) { () throws(TokenKeepError) in try items.refuse() }
        }
        let bound = try bind(opened, to: device, call) { () throws(TokenKeepError) in try items.refuse() }
        return try keyChange.finish(bound, call, progress)
    }

    /// Replaces all keys. The new keys of levels that need a device are bound to the new device.
    private func rotate(
        _ opened: Opened, to device: DeviceIdentity, _ call: CallContext, _ progress: JournalProgress?,
        check: () throws(TokenKeepError) -> Void = {}
    ) throws(TokenKeepError) -> UnlockOutcome {
        var opener = EraKeys.Opener.keyfile
        if let password = opened.password { opener = try keyChange.passwordOpener(password, call) }
        let (after, unreadable) = try keyChange.rotation(call, progress).run(
            opened.unlocked, with: opener, binding: device
        ) {
            (_) throws(TokenKeepError) in try check()
        }
        return try keyChange.finish(after, unreadable: unreadable, done: "the vault is bound anew", call, progress)
    }

    /// Makes a new key for the level whose secret the TPM has lost, if no item needs the old key.
    ///
    /// This completes an interrupted removal of the password. If an item needs the key, nothing is changed, because the
    /// loss may be forged on the connection to the TPM.
    func renewLostLevel(
        _ unlocked: UnlockedVault, _ password: SecretBytes, _ call: CallContext
    ) throws(TokenKeepError) -> UnlockedVault {
        let items = ProtectedItems(store: store, unlocked: unlocked, loss: .index)
        try items.refuse()
        let renewed = try PasswordSlots(records.opener).renewLostLevel(unlocked, password, call) {
            () throws(TokenKeepError) in try items.refuse()
        }
        records.announceChange()
        return renewed
    }

    /// Adds the device's slots (ways to open keys) to the header, with new keys for the levels that need the device.
    private func bind(
        _ opened: Opened, to device: DeviceIdentity, _ call: CallContext,
        check: () throws(TokenKeepError) -> Void = {}
    ) throws(TokenKeepError) -> UnlockedVault {
        let passwords = PasswordSlots(records.opener)
        guard let password = opened.password else {
            return try passwords.bind(opened.unlocked, to: device, call, check: check)
        }
        return try passwords.change(opened.unlocked, to: password, binding: device, call, check: check)
    }

    /// Returns the device of a provider; if `provider` is nil, the first device that this machine has.
    ///
    /// `passedOver` is the fault of a better device that exists but does not answer.
    private func device(
        of provider: DeviceProvider?
    ) throws(TokenKeepError) -> (device: DeviceIdentity, passedOver: DeviceFault?) {
        let devices = records.opener.residentKeys.devices
        var fault: DeviceFault?
        for candidate in provider.map({ [$0] }) ?? DeviceProvider.supported {
            do throws(DeviceFault) {
                return (try devices.identity(of: candidate), fault)
            } catch {
                if provider != nil || error.mayBeMended { fault = fault ?? error }
            }
        }
        throw TokenKeepError(
            .unavailable, fault?.reason ?? "this machine has no device to bind the vault to", module: "vault",
            hint: fault?.remedy ?? "a key in a file of root's will do: sudo tokenkeep device make-machine-key")
    }
}
