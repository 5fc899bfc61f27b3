import SystemPackage
package import TokenKeepCore

/// Makes a new vault. Each file is durable before the next is written.
///
/// If the process crashes, the next call of ``make(_:_:)`` completes the vault.
package enum VaultMaking {
    /// Makes the vault. If the vault exists, writes a missing copy of the vault's header.
    ///
    /// - Throws: ``Status/invalid`` if the directory contains other files, ``Status/corrupt`` if the directory contains
    ///   a vault's records but no keys in force.
    package static func make(_ opener: VaultOpener, _ call: CallContext) throws(TokenKeepError) {
        let directory = try VaultDirectory.make(try opener.path())
        if try directory.currentEra() == nil { try refuseIfForeign(directory) }
        guard let lock = try lockUnlessMade(opener, directory, call) else { return }
        defer { lock.release() }
        if let vault = try opener.open() { return try complete(vault) }
        for era in try directory.eras() { try EraRemoval.remove(era, of: directory) }
        let era = try EraDirectory.make(1, of: directory)
        try Sodium.start()
        let made = try EraKeys.make(
            vaultID: RandomBytes.make(16), era: 1, opener: .keyfile, journalKey: nil, retiring: [])
        try made.write(to: era)
        try VaultFiles.sync(directory.descriptor, after: "making the vault")
        try directory.switchTo(1)
        opener.residentKeys.removal.dropKeysOfLostVaults()
    }

    /// Locks the whole vault; nil if another process or thread has made the vault meanwhile.
    ///
    /// Repeats short attempts instead of waiting for the lock: in a new vault, other processes may lock one item after
    /// another, so that the whole vault is never free of locks.
    private static func lockUnlessMade(
        _ opener: VaultOpener, _ directory: VaultDirectory, _ call: CallContext
    ) throws(TokenKeepError) -> VaultLock? {
        while !call.deadline.hasPassed {
            if let lock = try VaultLock(trying: .whole, of: directory) { return lock }
            if let vault = try opener.open(), try HeaderFiles.missing(in: vault.era).isEmpty { return nil }
            ShortPause.wait(milliseconds: 2)
        }
        return try VaultLock(.whole, of: directory, call)
    }

    /// Writes a missing copy of the header. The other copy was verified when the vault was opened, so no damage is copied.
    private static func complete(_ vault: OpenVault) throws(TokenKeepError) {
        for name in try HeaderFiles.missing(in: vault.era) {
            try HeaderFiles.write(vault.headerFile, to: name, in: vault.era)
        }
    }

    /// Throws if the vault is being deleted, or if the directory has records but no link `current`.
    ///
    /// A new vault would have new keys, which could never decrypt these records.
    static func checkIsNew(_ directory: VaultDirectory) throws(TokenKeepError) {
        guard try !VaultDeletion.hasBegun(in: directory) else {
            throw TokenKeepError(
                .busy, "the vault in \(directory.path) is being deleted", module: "vault",
                hint: "if the deletion was interrupted, finish it: tokenkeep vault delete")
        }
        for number in try directory.eras() {
            guard let records = try EraDirectory.open(number, of: directory)?.openRecords(),
                try VaultFiles.names(in: records).contains(where: { Hexadecimal.bytes($0, count: 16) != nil })
            else { continue }
            // If another process has just made the vault, the link `current` exists now, and this is no error.
            guard try directory.currentEra() == nil else { return }
            throw TokenKeepError(
                .corrupt, "the vault in \(directory.path) has records but no link \(EraDirectory.link)",
                module: "vault",
                hint: "restore it: ln -s \(EraDirectory.name(number)) '\(directory.path)/\(EraDirectory.link)'")
        }
    }

    /// Throws if the directory contains files that do not belong to a vault.
    private static func refuseIfForeign(_ directory: VaultDirectory) throws(TokenKeepError) {
        let own = ["lock", "changes", "changes.tmp", EraDirectory.link]
        let foreign = try VaultFiles.names(in: directory.descriptor).first { name in
            // Ignore entries that the file system itself makes, so that an otherwise empty directory is accepted.
            name != "lost+found" && !name.hasPrefix(".nfs") && EraDirectory.number(of: name) == nil
                && !own.contains { name == $0 || name == $0 + ".tmp" }
        }
        guard let foreign else { return }
        throw TokenKeepError(
            .invalid, "\(directory.path) is no vault and holds other files (\(foreign))", module: "vault",
            hint: "choose a directory that is empty or does not exist")
    }
}
