import TokenKeepCore

extension KnownSlot {
    private func place(in header: Header) -> WrappedKey.Place {
        WrappedKey.Place(vaultID: header.vaultID, era: header.era, slotType: type, slotID: id)
    }

    /// Decrypts the keys of the slot, after a check of `derived` and of the header's authentication code (MAC B).
    ///
    /// - Returns: the keys; nil if `derived` was derived from a wrong password.
    /// - Throws: ``FormatFault/refusedHeader`` if somebody without the password altered the header.
    func open(
        with derived: DerivedKey, of header: Header, _ headerFile: [UInt8]
    ) throws(FormatFault) -> [OpenKey]? {
        guard HeaderMAC.areEqual(derived.commitment, commitment) else { return nil }
        guard let wrapped = current(.header) else { throw .malformed("a slot has no header key") }
        let headerKey = try wrapped.open(at: place(in: header), with: derived.wrapping)
        let isRight = try FormatFault.needing { () throws(TokenKeepError) in
            try HeaderMAC.isRightB(headerFile, headerKey: headerKey.bytes)
        }
        guard isRight else { throw .refusedHeader }
        return try openUnchecked(with: derived, of: header)
    }

    /// Decrypts the keys of the slot without a check of the header's authentication code (MAC B).
    ///
    /// Only a replacement of all keys may use this function, because the header may have been altered.
    ///
    /// - Returns: the keys; nil if `derived` was derived from a wrong password.
    func openUnchecked(with derived: DerivedKey, of header: Header) throws(FormatFault) -> [OpenKey]? {
        guard HeaderMAC.areEqual(derived.commitment, commitment) else { return nil }
        var opened: [OpenKey] = []
        for key in keys { opened.append(try key.open(at: place(in: header), with: derived.wrapping)) }
        return opened
    }

    /// Makes a slot that contains the given keys in encrypted form. Keys that do not belong in slots of this type are
    /// ignored.
    static func wrapping(
        _ keys: [OpenKey], type: SlotType, derivation: KeyDerivation, with derived: DerivedKey, vaultID: [UInt8],
        era: UInt64, device: DeviceBinding? = nil
    ) -> KnownSlot {
        let id = RandomBytes.id()
        let place = WrappedKey.Place(vaultID: vaultID, era: era, slotType: type, slotID: id)
        return KnownSlot(
            type: type, id: id, derivation: derivation, createdAt: .now, commitment: derived.commitment,
            keys: keys.filter { $0.purpose.isOfDevice == (type == .device) }.map {
                WrappedKey.wrapping($0, at: place, with: derived.wrapping)
            }, device: device)
    }
}
