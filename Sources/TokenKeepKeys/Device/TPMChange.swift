import TokenKeepCore

/// A change of the header, as far as it concerns the TPM: the indices that the header names, and the vault's anchor.
///
/// The caller holds the lock of the whole vault from the beginning to the end.
struct TPMChange {
    let indices: IndexChange
    private let anchor: AnchorChange
    /// The number of the anchor's index; nil if there is no anchor.
    private let anchorIndex: UInt32?

    /// Begins the change, before the new header is written.
    ///
    /// - Throws: what ``IndexChange/check()`` and ``AnchorChange/begin()`` throw. Then nothing was changed.
    init(_ vault: OpenVault, to header: Header, file: [UInt8], _ devices: Devices) throws(TokenKeepError) {
        indices = IndexChange(before: vault.keys.header, after: header, devices: devices)
        try indices.check()
        anchor = try AnchorChange(vault, to: header, file: file, devices)
        anchorIndex = try anchor.begin()
    }

    /// Ends the change. The new header is in force.
    func finish() {
        anchor.finish(anchorIndex)
        indices.destroyStale()
    }
}
