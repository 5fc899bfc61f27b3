import Glibc
import SystemPackage
package import TokenKeepCore

/// An opened vault: its directories and its ring of keys. The object is immutable.
package final class OpenVault: Sendable {
    package let directory: VaultDirectory
    package let era: EraDirectory
    package let records: OwnedDescriptor
    package let keys: KeyRing
    /// The bytes of the vault's present header file.
    package let headerFile: [UInt8]

    init(
        directory: VaultDirectory, era: EraDirectory, records: OwnedDescriptor, keys: KeyRing, headerFile: [UInt8]
    ) {
        self.directory = directory
        self.era = era
        self.records = records
        self.keys = keys
        self.headerFile = headerFile
    }

    /// A copy of this vault with more open keys, for one operation only.
    package func adding(_ keys: [OpenKey]) -> OpenVault {
        OpenVault(
            directory: directory, era: era, records: records, keys: self.keys.adding(keys), headerFile: headerFile)
    }

    /// A copy of this vault with other keys, in another directory `era-N`.
    package func with(era: EraDirectory, records: OwnedDescriptor, _ made: EraKeys, _ keys: KeyRing) -> OpenVault {
        OpenVault(directory: directory, era: era, records: records, keys: keys, headerFile: made.headerFile)
    }
}

/// Opens a vault, and keeps the opened vault as long as its files do not change.
///
/// Each call compares the metadata (stat(2)) of the vault's directory, and of the header and the directory `records` to
/// which `current` leads. If any of these files changed, the vault is opened again.
package final class VaultOpener: Sendable {
    private struct Kept {
        let vault: OpenVault
        let identity: Identity
    }

    /// The metadata of a vault's files, which shows whether the vault at the path was changed or replaced.
    private struct Identity: Equatable {
        let directory: FileStatus.Identity
        /// The metadata (stat(2)) of the header file, which differs after every change of the vault's keys.
        let header: FileStatus.Identity
        let records: FileStatus.Identity
    }

    package let residentKeys: ClassKeyStore
    /// The costs of Argon2id for new passwords.
    package let costs: PasswordCosts
    private let knownPath: MutexGuarded<String?>
    private let kept = MutexGuarded<Kept?>(nil)

    /// Prepares to open the vault at a path, or the user's own vault if `path` is nil. No file is opened yet.
    package init(path: String? = nil, residentKeys: ClassKeyStore, costs: PasswordCosts = .standard) {
        knownPath = MutexGuarded(path)
        self.costs = costs
        self.residentKeys = residentKeys
    }

    /// The path of the vault, which need not exist.
    ///
    /// - Throws: ``Status/invalid`` if the path in `TOKENKEEP_VAULT` is relative, ``Status/unavailable`` if the user
    ///   has no home directory.
    package func path() throws(TokenKeepError) -> String {
        if let known = knownPath.withLock({ $0 }) { return known }
        let path = try VaultLocation.path()
        knownPath.withLock { $0 = path }
        return path
    }

    /// Opens the vault; nil if there is no vault.
    ///
    /// - Parameter fresh: whether the header is read again even if its file looks unchanged.
    /// - Throws: ``Status/denied``, ``Status/corrupt``, ``Status/unsupported`` or ``Status/io`` if there is a vault
    ///   that cannot be used, ``Status/locked`` if its keys were replaced elsewhere since the last unlock.
    package func open(fresh: Bool = false) throws(TokenKeepError) -> OpenVault? {
        let path = try path()
        if !fresh, let before = kept.withLock({ $0 }),
            let identity = identity(path, before.vault.directory, before.vault.era), identity == before.identity
        {
            return before.vault
        }
        return try copies(.verified).first
    }

    /// Opens the vault even if its header was altered, but not if the header is older than the header that an unlock
    /// verified; nil if there is no vault.
    ///
    /// Only a replacement of all keys may use this function: it takes only the keys of the password's slot from the
    /// header.
    package func openForRotation() throws(TokenKeepError) -> OpenVault? { try copies(.notOlder).first }

    /// Whether a copy of the header on the disk is still that of `vault`. The caller holds the lock of the whole vault.
    package func isUnchanged(_ vault: OpenVault) throws(TokenKeepError) -> Bool {
        try copies(.notOlder, all: true).contains { $0.headerFile == vault.headerFile }
    }

    /// Opens the vault for a caller who verifies the header with the password; nil if there is no vault.
    ///
    /// The header may be of a later era than the header that an unlock verified, because the keys may have been
    /// replaced on another machine or in a container.
    package func openToUnlock() throws(TokenKeepError) -> OpenVault? { try copies(.verifiedOrLater).first }

    /// Opens the vault like ``openToUnlock()``, once for each intact copy of the header, `header` first; empty without
    /// a vault.
    func copiesToUnlock() throws(TokenKeepError) -> [OpenVault] { try copies(.verifiedOrLater, all: true) }

    /// The rule by which a call accepts a header, compared with the header that an unlock verified.
    private enum Acceptance {
        /// Accepts the verified header, and later headers of its era under the same header key.
        case verified
        /// Accepts the headers of ``verified``, and any header of a later era with a password, which the caller must
        /// verify.
        case verifiedOrLater
        /// Accepts any header that is not older than the verified header.
        case notOlder
    }

    /// Opens the vault with the first accepted copy of its header, or with all accepted copies; empty without a vault.
    private func copies(_ acceptance: Acceptance, all: Bool = false) throws(TokenKeepError) -> [OpenVault] {
        let path = try path()
        guard let directory = try VaultDirectory.open(path) else { return [] }
        // If another process replaces the keys or the header meanwhile, the files do not match and are read again.
        for _ in 0..<VaultOpener.attempts {
            // Read the metadata first: if the keys are replaced after this line, the next call detects different metadata.
            let identity = identity(path, directory)
            guard let number = try directory.currentEra() else {
                try VaultMaking.checkIsNew(directory)
                guard try directory.currentEra() != nil else { return [] }
                continue
            }
            do throws(TokenKeepError) {
                let vaults = try open(number, of: directory, acceptance, all: all)
                if acceptance == .verified, let identity, let vault = vaults.first {
                    kept.withLock { $0 = Kept(vault: vault, identity: identity) }
                }
                return vaults
            } catch {
                // A header that was replaced just after it was read is older than the trusted header, so read the vault
                // again if its files changed.
                guard try directory.currentEra() != number || self.identity(path, directory) != identity else {
                    throw error
                }
            }
        }
        throw TokenKeepError(.busy, "the vault's keys are being replaced", module: "vault", hint: "try again")
    }

    private static let attempts = 8

    private func open(
        _ number: UInt64, of directory: VaultDirectory, _ acceptance: Acceptance, all: Bool
    ) throws(TokenKeepError) -> [OpenVault] {
        guard let era = try EraDirectory.open(number, of: directory) else {
            throw TokenKeepError(
                .corrupt, "the vault in \(directory.path) has lost its directory \(EraDirectory.name(number))",
                module: "vault", hint: "restore it from a backup")
        }
        let headers = try readHeaders(of: era, acceptance, all: all)
        guard let records = try era.openRecords() else { throw VaultOpener.recordsMissing(era) }
        era.removeMakingLeft(of: directory)
        return headers.map {
            OpenVault(directory: directory, era: era, records: records, keys: $0.keys, headerFile: $0.file)
        }
    }

    /// Reads the first copy of the header that is intact and accepted, or all such copies. Throws if there is none.
    private func readHeaders(
        of era: EraDirectory, _ acceptance: Acceptance, all: Bool
    ) throws(TokenKeepError) -> [(file: [UInt8], keys: KeyRing)] {
        let keyfile = try HeaderFiles.keyfile(of: era)
        var accepted: [(file: [UInt8], keys: KeyRing)] = []
        var errors: [TokenKeepError] = []
        for name in HeaderFiles.names where all || accepted.isEmpty {
            do throws(TokenKeepError) {
                let (file, keys) = try HeaderFiles.open(name, of: era, with: keyfile, residentKeys)
                try check(keys.header, file, acceptance)
                accepted.append((file, keys))
            } catch {
                errors.append(error)
            }
        }
        guard accepted.isEmpty else { return accepted }
        // The error of a forged or locked copy takes precedence over that of a damaged copy, because it is more
        // specific.
        let telling = errors.first(where: HeaderTrust.isRefusal) ?? errors.first { $0.status == .locked }
        throw telling ?? VaultOpener.noHeader(errors.first)
    }

    private func check(_ header: Header, _ file: [UInt8], _ acceptance: Acceptance) throws(TokenKeepError) {
        guard let trust = try residentKeys.trust(of: header.vaultID) else { return }
        switch acceptance {
        case .verified: try trust.check(header, file: file)
        case .verifiedOrLater: if !trust.isReplacedElsewhere(by: header) { try trust.check(header, file: file) }
        case .notOlder: if !trust.isReplacedElsewhere(by: header) { try trust.checkAge(header) }
        }
    }

    /// The metadata of the vault's files; nil if a file is missing or has a wrong type or owner.
    ///
    /// - Parameter era: the open directory from which the header is read; nil to read the header through `current`. The
    ///   identity of `records` shows whether `current` still leads to this directory.
    private func identity(_ path: String, _ directory: VaultDirectory, _ era: EraDirectory? = nil) -> Identity? {
        let vault = directory.descriptor.number
        guard let found = VaultOpener.status(path, AT_FDCWD), found.isOwnedAndPrivate,
            let records = VaultOpener.status(VaultOpener.records, vault),
            let header = era.map({ VaultOpener.status(HeaderFiles.names[0], $0.descriptor.number) })
                ?? VaultOpener.status(VaultOpener.header, vault)
        else { return nil }
        return Identity(
            directory: found.identity.ofFolder, header: header.identity, records: records.identity.ofFolder)
    }

    /// The paths of the header and of the records, relative to the vault's directory.
    private static let header = "\(EraDirectory.link)/\(HeaderFiles.names[0])"
    private static let records = "\(EraDirectory.link)/\(EraDirectory.recordsFolder)"

    private static func status(_ path: String, _ directory: Int32) -> FileStatus? {
        (try? SystemCall.status(of: path, in: directory)) ?? nil
    }

    /// Makes the error for a vault without a readable copy of the header.
    ///
    /// The damaged copies keep their names, because each contains the keys of all records and may still be repaired.
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

    /// Whether an unlock since the machine's start verified exactly this header.
    package func isVerified(_ vault: OpenVault) throws(TokenKeepError) -> Bool {
        try residentKeys.trust(of: vault.keys.vaultID)?.verified(vault.keys.header, file: vault.headerFile) ?? false
    }

    /// The id of the vault at the path; nil if there is no vault.
    ///
    /// If the keyfile is damaged, the id is read from a header that is not verified. An unverified id is enough for the
    /// caller, which only locks the vault.
    ///
    /// - Throws: the error of the keyfile if neither the keyfile nor a header can be read.
    package func vaultID() throws(TokenKeepError) -> [UInt8]? {
        guard let directory = try VaultDirectory.open(try path()), let number = try directory.currentEra(),
            let era = try EraDirectory.open(number, of: directory)
        else { return nil }
        if let id = VaultOpener.vaultID(of: era) { return id }
        return try HeaderFiles.keyfile(of: era).vaultID
    }

    /// The id of the vault to which an era belongs, read from its keyfile or else from an unverified header; nil if
    /// neither can be read.
    static func vaultID(of era: EraDirectory) -> [UInt8]? {
        if let id = try? HeaderFiles.keyfile(of: era).vaultID { return id }
        for name in HeaderFiles.names {
            guard let bytes = try? VaultFiles.read(name, in: era.descriptor, atMost: Header.maximumLength),
                let header = try? bytes.lent({ bytes throws(FormatFault) in try Header.parse(bytes) })
            else { continue }
            return header.vaultID
        }
        return nil
    }
}

extension VaultDirectory {
    /// Whether the vault with this id is no longer at the path; false if the path cannot be read.
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
