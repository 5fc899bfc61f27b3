import TokenKeepCore

/// Opens and makes the header's device slots, which contain the keys of levels that never leave this machine.
struct DeviceSlots {
    let devices: Devices

    /// The keys from the device slots that could be opened.
    struct Opened {
        var keys: [OpenKey] = []
        /// The reason why a slot stayed closed; nil if every slot was opened.
        var fault: DeviceFault?
    }

    /// Opens the device slots of a verified header that belong to the base slot of the type `type`.
    ///
    /// A device slot opens only with the device's secret and the key-encryption key of its base slot. A slot that stays
    /// closed is no damage: the header's other keys remain usable.
    ///
    /// - Parameter base: the key-encryption key of the base slot, which was opened.
    func open(
        _ header: Header, _ type: KnownSlot.SlotType, base: SecretBytes, until deadline: Deadline = Devices.deadline
    ) throws(TokenKeepError) -> Opened {
        var opened = Opened()
        for slot in header.deviceSlots(of: type) {
            guard let binding = slot.device else { continue }
            do throws(DeviceFault) {
                let secret = try devices.secret(
                    for: binding, base: base, of: header.vaultID, until: deadline)
                opened.keys += try keys(of: slot, header, secret: secret, base: base)
            } catch {
                // A lost index is reported only if no slot has another fault.
                if opened.fault.map({ $0 == TPMReply.noIndex }) ?? true { opened.fault = error }
            }
        }
        return opened
    }

    private func keys(
        of slot: KnownSlot, _ header: Header, secret: SecretBytes, base: SecretBytes
    ) throws(DeviceFault) -> [OpenKey] {
        do throws(FormatFault) {
            let derived = try FormatFault.needing { () throws(TokenKeepError) in
                try DeviceSlots.derived(from: secret, base: base)
            }
            if let keys = try slot.openUnchecked(with: derived, of: header) { return keys }
        } catch {
            guard case .resources(let error) = error else {
                throw DeviceFault(.other, "the device slot does not open")
            }
            throw DeviceFault(.silent, error.message)
        }
        throw DeviceFault(.other, "the device gives another secret than the vault's")
    }

    /// Makes the device slots of one base slot.
    ///
    /// The key of the level that needs a password gets its own slot if the device can keep that slot's secret in an index.
    ///
    /// - Parameters:
    ///   - keys: the keys of the new header. Keys of levels that need no device are ignored.
    ///   - base: the type, the derivation and the key-encryption key of the base slot.
    func make(
        _ keys: [OpenKey], for device: DeviceIdentity, _ base: Base, of vaultID: [UInt8], era: UInt64
    ) throws(TokenKeepError) -> [Slot] {
        let levels = DeviceSlots.levels(of: base.type)
        let wrapped = keys.filter { key in levels.contains { key.purpose == .level($0) } }
        let ofPassword = wrapped.filter { $0.purpose == .level(.whenPasscodeSetThisDeviceOnly) }
        let bound: Devices.Bound
        let index: Devices.Bound?
        do throws(DeviceFault) {
            bound = try devices.bind(to: device, base: base.wrapping, base.type, of: vaultID)
            index =
                ofPassword.isEmpty
                ? nil : try devices.bindToIndex(of: device, base: base.wrapping, base.type, of: vaultID)
        } catch {
            throw error.error
        }
        func slot(_ keys: [OpenKey], _ bound: Devices.Bound) throws(TokenKeepError) -> Slot {
            let derived = try DeviceSlots.derived(from: bound.secret, base: base.wrapping)
            return .known(
                .wrapping(
                    keys, type: .device, derivation: base.derivation, with: derived, vaultID: vaultID, era: era,
                    device: bound.binding))
        }
        guard let index else { return [try slot(wrapped, bound)] }
        let others = wrapped.filter { $0.purpose != .level(.whenPasscodeSetThisDeviceOnly) }
        return [try slot(others, bound), try slot(ofPassword, index)]
    }

    /// A base slot, whose key is needed in addition to the device's secret.
    struct Base {
        let type: KnownSlot.SlotType
        let derivation: KeyDerivation
        let wrapping: SecretBytes
    }

    /// The levels whose current keys are in the device slots that are based on a slot of this type.
    static func levels(of base: KnownSlot.SlotType) -> [AccessLevel] {
        let ofAll: [AccessLevel] = [.whenUnlockedThisDeviceOnly, .afterFirstUnlockThisDeviceOnly]
        return base == .password ? ofAll + [.whenPasscodeSetThisDeviceOnly] : ofAll
    }

    /// Derives the 64 bytes of a device slot: `hash(64, key of the base, device secret)`.
    static func derived(from secret: SecretBytes, base: SecretBytes) throws(TokenKeepError) -> DerivedKey {
        let derived = try secret.withUnsafeBytes { secret throws(TokenKeepError) in
            try Subkey.hash(64, of: secret, key: base)
        }
        return DerivedKey(
            wrapping: try derived.prefix(KeyRing.keyLength),
            commitment: derived.withUnsafeBytes { Array($0[KeyRing.keyLength...]) })
    }
}

extension KeyPurpose {
    /// Whether only device slots contain the key.
    var isOfDevice: Bool {
        guard case .level(let level) = self else { return false }
        return level.needsDevice
    }
}

extension KeyPurpose {
    /// Whether the removal of the vault's password removes the key.
    var needsPassword: Bool { self == .presence || self == .level(.whenPasscodeSetThisDeviceOnly) }
}
