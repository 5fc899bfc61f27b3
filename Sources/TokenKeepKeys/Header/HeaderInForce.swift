package import TokenKeepCore

/// Keeps keys only for the header in force (docs/format.md, "While the vault is unlocked").
extension VaultOpener {
    /// The maximum time, in milliseconds, to wait for a process that replaces the verified headers. A replacement takes
    /// only a few writes.
    private static let trustPatience: UInt32 = 4_000

    /// Calls `body` under a lock, so that no other process replaces the headers that the kernel keeps as verified.
    func lockingTrust<Result>(
        of directory: VaultDirectory, _ call: CallContext, _ body: () throws(TokenKeepError) -> Result
    ) throws(TokenKeepError) -> Result {
        let lock = try VaultLock(.trust, of: directory, call.until(Deadline(milliseconds: VaultOpener.trustPatience)))
        defer { lock.release() }
        return try body()
    }

    /// Calls `body`, which keeps keys of `vault`, if the header of `vault` is in force.
    ///
    /// - Throws: ``Status/conflict`` if another header is in force.
    package func whileInForce(
        _ vault: OpenVault, _ call: CallContext, _ body: () throws(TokenKeepError) -> Void
    ) throws(TokenKeepError) {
        try whileInForce(vault, nil, call, body)
    }

    /// Calls `body`, which keeps keys of `vault`, if the header of `vault` is in force.
    ///
    /// - Parameter headerKey: the key that verifies a copy of the header; nil if unknown.
    /// - Throws: ``Status/conflict`` if another header is in force.
    func whileInForce(
        _ vault: OpenVault, _ headerKey: SecretBytes?, _ call: CallContext,
        _ body: () throws(TokenKeepError) -> Void
    ) throws(TokenKeepError) {
        try lockingTrust(of: vault.directory, call) { () throws(TokenKeepError) in
            guard try inForce(headerKey)?.headerFile == vault.headerFile else { throw VaultOpener.changedMeanwhile }
            try body()
        }
    }

    /// The vault with the header in force: the first copy or, if `headerKey` is known, the first copy whose MAC B is right.
    ///
    /// - Returns: nil if there is no vault, or if no copy's MAC B is right under `headerKey`.
    func inForce(_ headerKey: SecretBytes?) throws(TokenKeepError) -> OpenVault? {
        for vault in try copiesToUnlock() {
            guard let headerKey else { return vault }
            if try HeaderMAC.isRightB(vault.headerFile, headerKey: headerKey) { return vault }
        }
        return nil
    }

    package static let changedMeanwhile = TokenKeepError(
        .conflict, "another process changed the vault's keys meanwhile", module: "vault", hint: "try again")
}
