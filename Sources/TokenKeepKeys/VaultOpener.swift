import Glibc
import SystemPackage
package import TokenKeepCore

/// A vault that is there: its directories, and its keys as far as they are open.
package struct OpenVault: Sendable {
    package let directory: VaultDirectory
    package let era: EraDirectory
    package let records: OwnedDescriptor
    package let keys: KeyRing
    /// The bytes of the header in force.
    package let headerFile: [UInt8]

    /// The same vault with more keys open, for the length of an operation.
    package func adding(_ keys: [OpenKey]) -> OpenVault {
        OpenVault(
            directory: directory, era: era, records: records, keys: self.keys.adding(keys), headerFile: headerFile)
    }

    /// Another era of the same vault.
    package func with(era: EraDirectory, records: OwnedDescriptor, _ made: EraKeys, _ keys: KeyRing) -> OpenVault {
        OpenVault(directory: directory, era: era, records: records, keys: keys, headerFile: made.headerFile)
    }
}

/// Opens a vault, and keeps it open as long as every part of its path is what it was.
///
/// A call looks at the vault's directory, `current`, the header and `records` by path: a vault that was restored, moved or
/// removed meanwhile, or got other keys, is opened anew.
package final class VaultOpener: Sendable {
    private struct Kept {
        let vault: OpenVault
        let identity: Identity
        let names: EraNames
    }

    /// What tells a vault from another that took its path.
    private struct Identity: Equatable {
        let directory: FileStatus.Identity
        let link: FileStatus.Identity
        let header: FileStatus.Identity
        let records: FileStatus.Identity
    }

    package let residentKeys: ClassKeyStore
    /// The costs of the slots that are made for new passwords.
    package let costs: PasswordCosts
    private let knownPath: Guarded<String?>
    private let kept = Guarded<Kept?>(nil)

    /// Opens the vault at a path, or the user's for nil. Touches nothing yet.
    package init(path: String? = nil, residentKeys: ClassKeyStore, costs: PasswordCosts = .standard) {
        knownPath = Guarded(path)
        self.costs = costs
        self.residentKeys = residentKeys
    }

    /// The path of the vault, made or not.
    ///
    /// - Throws: ``Status/invalid`` for a relative `TOKENKEEP_VAULT`, ``Status/io`` if the user has no home.
    package func path() throws(TokenKeepError) -> String {
        if let known = knownPath.withLock({ $0 }) { return known }
        let path = try VaultLocation.path()
        knownPath.withLock { $0 = path }
        return path
    }

    /// The vault; nil if none was made.
    ///
    /// - Parameter fresh: reads the header again even if its file looks the same.
    /// - Throws: ``Status/denied``, ``Status/corrupt``, ``Status/unsupported`` or ``Status/io`` if there is one that cannot be
    ///   used.
    package func open(fresh: Bool = false) throws(TokenKeepError) -> OpenVault? {
        try open(fresh: fresh, isTrusting: false)
    }

    /// The vault although its header is not the one that an unlock verified: for a change of all keys, which takes nothing
    /// from the header but the slot that the password opens.
    package func openForRotation() throws(TokenKeepError) -> OpenVault? { try open(fresh: true, isTrusting: true) }

    private func open(fresh: Bool, isTrusting: Bool) throws(TokenKeepError) -> OpenVault? {
        let path = try path()
        let before = kept.withLock { $0 }
        if !fresh, let before,
            let identity = identity(path, before.vault.directory, before.names), identity == before.identity
        {
            return before.vault
        }
        guard let directory = try VaultDirectory.open(path) else { return nil }
        // Another process may be replacing `current` or the header just now: what was read of two states is read again.
        for _ in 0..<VaultOpener.attempts {
            guard let number = try directory.currentEra() else {
                try VaultMaking.checkIsNew(directory)
                guard try directory.currentEra() != nil else { return nil }
                continue
            }
            let names = EraNames(number)
            let identity = identity(path, directory, names)
            do throws(TokenKeepError) {
                let vault = try open(number, of: directory, isTrusting: isTrusting)
                if let identity, !isTrusting {
                    kept.withLock { $0 = Kept(vault: vault, identity: identity, names: names) }
                }
                return vault
            } catch {
                // A header that was read before it was replaced is older than the one that is trusted since.
                guard try directory.currentEra() != number || self.identity(path, directory, names) != identity else {
                    throw error
                }
            }
        }
        throw TokenKeepError(.busy, "the vault's keys are being replaced", module: "vault", hint: "try again")
    }

    private static let attempts = 8

    private func open(
        _ number: UInt64, of directory: VaultDirectory, isTrusting: Bool
    ) throws(TokenKeepError) -> OpenVault {
        guard let era = try EraDirectory.open(number, of: directory) else {
            throw TokenKeepError(
                .corrupt, "the vault in \(directory.path) has lost its directory \(EraDirectory.name(number))",
                module: "vault", hint: "restore it from a backup")
        }
        let (file, keys) = try readHeader(of: era, isTrusting: isTrusting)
        guard let records = try era.openRecords() else { throw VaultOpener.recordsMissing(era) }
        return OpenVault(directory: directory, era: era, records: records, keys: keys, headerFile: file)
    }

    /// The first copy of an era's header that is whole, held against what an unlock verified.
    private func readHeader(
        of era: EraDirectory, isTrusting: Bool
    ) throws(TokenKeepError) -> (file: [UInt8], keys: KeyRing) {
        let keyfile = try HeaderFiles.keyfile(of: era)
        var first: TokenKeepError?
        for name in HeaderFiles.names {
            do throws(TokenKeepError) {
                let (file, keys) = try HeaderFiles.open(name, of: era, with: keyfile, residentKeys)
                let trust = try residentKeys.trust(of: keys.vaultID)
                if isTrusting { try trust?.checkAge(keys.header) } else { try trust?.check(keys.header, file: file) }
                return (file, keys)
            } catch {
                guard !HeaderTrust.isRefusal(error) else { throw error }
                first = first ?? error
            }
        }
        throw VaultOpener.noHeader(first)
    }

    /// The identities of what is at the path now; nil if a part is missing or is not what it must be.
    private func identity(_ path: String, _ directory: VaultDirectory, _ names: EraNames) -> Identity? {
        let vault = directory.descriptor.number
        guard let found = VaultOpener.status(path, AT_FDCWD), found.isOwnedAndPrivate,
            let link = VaultOpener.status(EraDirectory.link, vault),
            let header = VaultOpener.status(names.header, vault),
            let records = VaultOpener.status(names.records, vault)
        else { return nil }
        return Identity(
            directory: found.identity.ofFolder, link: link.identity, header: header.identity,
            records: records.identity.ofFolder)
    }

    /// The paths of an era's parts, from the vault's directory.
    private struct EraNames {
        let header: String
        let records: String

        init(_ era: UInt64) {
            header = "\(EraDirectory.name(era))/\(HeaderFiles.names[0])"
            records = "\(EraDirectory.name(era))/\(EraDirectory.recordsFolder)"
        }
    }

    private static func status(_ path: String, _ directory: Int32) -> FileStatus? {
        (try? SystemCall.status(of: path, in: directory)) ?? nil
    }

    /// Renaming a damaged header would help nobody: the keys of all records stand in it.
    private static func noHeader(_ error: TokenKeepError?) -> TokenKeepError {
        guard let error, error.status != .corrupt else {
            return TokenKeepError(
                .corrupt, "both copies of the vault's keys fail: \(error?.message ?? "they are missing")",
                module: "vault",
                hint:
                    "nothing was deleted; restore the files header and keyfile from a backup, or make a new vault and "
                    + "bring the items back: tokenkeep import FILE")
        }
        return error
    }

    private static func recordsMissing(_ era: EraDirectory) -> TokenKeepError {
        TokenKeepError(
            .corrupt, "the vault in \(era.path) has lost its directory records", module: "vault",
            hint: "restore it from a backup; if there is nothing to restore: mkdir -m 700 '\(era.path)/records'")
    }

    /// Whether an unlock since the machine's start verified this very header.
    package func isVerified(_ vault: OpenVault) throws(TokenKeepError) -> Bool {
        try residentKeys.trust(of: vault.keys.vaultID)?.verified(vault.keys.header, file: vault.headerFile) ?? false
    }

    /// The id of the vault at the path, as its keyfile says, or if that is damaged a header that nothing vouches for. A lock
    /// needs no more. nil if there is neither.
    package func vaultID() throws(TokenKeepError) -> [UInt8]? {
        guard let directory = try VaultDirectory.open(try path()), let number = try directory.currentEra(),
            let era = try EraDirectory.open(number, of: directory)
        else { return nil }
        let damage: TokenKeepError
        do throws(TokenKeepError) {
            return try HeaderFiles.keyfile(of: era).vaultID
        } catch {
            damage = error
        }
        for name in HeaderFiles.names {
            guard let bytes = try? VaultFiles.read(name, in: era.descriptor, atMost: Header.maximumLength),
                let header = try? bytes.lent({ bytes throws(FormatFault) in try Header.parse(bytes) })
            else { continue }
            return header.vaultID
        }
        throw damage
    }
}

extension VaultDirectory {
    /// Whether no vault of this id is at a path any more. False if that cannot be seen.
    static func isGone(_ vaultID: [UInt8], from path: String) -> Bool {
        do throws(TokenKeepError) {
            let opener = VaultOpener(path: path, residentKeys: ClassKeyStore(obstacle: "not needed"))
            guard let present = try opener.vaultID() else { return true }
            return present != vaultID
        } catch {
            return false
        }
    }
}
