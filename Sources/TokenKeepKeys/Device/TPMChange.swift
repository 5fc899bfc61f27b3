import TokenKeepCore

/// The TPM's part in a change of the header: updates the header's indices and the vault's anchor.
///
/// The caller holds the lock of the whole vault from ``init(_:to:file:_:)`` to ``finish()``.
struct TPMChange {
    let indices: IndexChange
    private let anchor: AnchorChange
    /// The number of the anchor's index; nil if there is no anchor.
    private let anchorIndex: UInt32?

    /// Begins the change, before the new header is written.
    ///
    /// - Throws: the errors of ``IndexChange/check()`` and ``AnchorChange/begin()``. In this case nothing was changed.
    init(_ vault: OpenVault, to header: Header, file: [UInt8], _ devices: Devices) throws(TokenKeepError) {
        indices = IndexChange(before: vault.keys.header, after: header, devices: devices)
        try indices.check()
        anchor = try AnchorChange(vault, to: header, file: file, devices)
        anchorIndex = try anchor.begin()
    }

    /// Ends the change. The new header must be in force.
    func finish() {
        anchor.finish(anchorIndex)
        indices.destroyStale()
    }
}
