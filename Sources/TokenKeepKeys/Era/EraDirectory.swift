import Glibc
import SystemPackage
package import TokenKeepCore

/// The directory `era-N` of a vault: one set of keys (an era, docs/format.md) and all records encrypted under these
/// keys.
package struct EraDirectory: Sendable {
    package let number: UInt64
    /// The directory's path, for messages.
    package let path: String
    package let descriptor: OwnedDescriptor

    private static let prefix = "era-"
    /// The highest N in `era-N`, which has 19 digits.
    static let maximum = UInt64(Int64.max)
    package static let link = "current"
    static let recordsFolder = "records"

    package static func name(_ number: UInt64) -> String { "\(prefix)\(number)" }

    /// The N in a directory's name `era-N`; nil for any other name.
    static func number(of name: String) -> UInt64? {
        guard name.hasPrefix(prefix), let number = UInt64(name.dropFirst(prefix.count)), number > 0,
            number <= maximum, EraDirectory.name(number) == name
        else { return nil }
        return number
    }

    /// The number of the era that follows the era `number`.
    ///
    /// - Throws: ``Status/unsupported`` if `number` is the highest possible number.
    static func number(after number: UInt64) throws(TokenKeepError) -> UInt64 {
        guard number < maximum else {
            throw TokenKeepError(
                .unsupported,
                "the vault's directory \(name(number)) has the last number: its keys can be replaced no more",
                module: "vault", hint: "tokenkeep export, and import into a new vault")
        }
        return number + 1
    }

    /// Opens the directory `era-N` (keys and records of the vault); nil if it is missing.
    package static func open(_ number: UInt64, of vault: VaultDirectory) throws(TokenKeepError) -> EraDirectory? {
        guard let descriptor = try vault.openFolder(name(number)) else { return nil }
        let path = "\(vault.path)/\(name(number))"
        do throws(Errno) {
            try check(descriptor, path)
        } catch {
            guard error != .permissionDenied else { throw isOpenToOthers(path) }
            throw error.error("cannot inspect \(path)")
        }
        return EraDirectory(number: number, path: path, descriptor: descriptor)
    }

    /// Checks the owner and the permissions of a directory of the vault.
    ///
    /// - Throws: ``Errno/permissionDenied`` if the directory belongs to another user, or other users may write to it.
    private static func check(_ directory: OwnedDescriptor, _ path: String) throws(Errno) {
        let status = try SystemCall.status(of: directory)
        guard status.owner == geteuid(), status.permissions & 0o022 == 0 else { throw .permissionDenied }
    }

    private static func isOpenToOthers(_ path: String) -> TokenKeepError {
        TokenKeepError(
            .denied, "\(path) belongs to another user, or others may write to it", module: "vault",
            hint: "chown \(geteuid()) '\(path)' && chmod 700 '\(path)'")
    }

    /// Makes the directory `era-N` for keys and records of the vault, and in it the empty directory `records`.
    package static func make(_ number: UInt64, of vault: VaultDirectory) throws(TokenKeepError) -> EraDirectory {
        do throws(Errno) {
            _ = try SystemCall.makeDirectory(name(number), in: vault.descriptor.number)
            _ = try SystemCall.makeDirectory("\(name(number))/\(recordsFolder)", in: vault.descriptor.number)
        } catch {
            throw error.error("cannot make \(vault.path)/\(name(number))")
        }
        guard let era = try open(number, of: vault) else {
            throw TokenKeepError(.io, "\(vault.path)/\(name(number)) vanished while it was made", module: "vault")
        }
        return era
    }

    /// Opens the directory `records` in the directory `era-N`; nil if it is missing.
    package func openRecords() throws(TokenKeepError) -> OwnedDescriptor? {
        let shown = "\(path)/\(EraDirectory.recordsFolder)"
        do throws(Errno) {
            let records = try SystemCall.open(
                EraDirectory.recordsFolder, in: descriptor.number, O_RDONLY | O_DIRECTORY)
            if let records { try EraDirectory.check(records, shown) }
            return records
        } catch {
            guard error != .permissionDenied else { throw EraDirectory.isOpenToOthers(shown) }
            throw error.error("cannot open \(shown)")
        }
    }
}

extension VaultDirectory {
    /// The N of the directory `era-N` to which the link `current` points; nil if there is no vault.
    ///
    /// - Throws: ``Status/corrupt`` if `current` is not a link to a directory `era-N`.
    package func currentEra() throws(TokenKeepError) -> UInt64? {
        let target: String?
        do throws(Errno) {
            target = try SystemCall.target(of: EraDirectory.link, in: descriptor.number)
        } catch {
            guard error == .invalidArgument else { throw error.error("cannot read \(path)/\(EraDirectory.link)") }
            throw VaultDirectory.noEra(path)
        }
        guard let target else { return nil }
        guard let number = EraDirectory.number(of: target) else { throw VaultDirectory.noEra(path) }
        return number
    }

    private static func noEra(_ path: String) -> TokenKeepError {
        TokenKeepError(
            .corrupt, "\(path)/\(EraDirectory.link) does not name an era of the vault", module: "vault",
            hint: "restore it from a backup: it is a link to the directory era-N with the highest number")
    }

    /// Makes the link `current` point to the directory `era-N`, durably, by one rename.
    package func switchTo(_ era: UInt64) throws(TokenKeepError) {
        let temporary = EraDirectory.link + ".tmp"
        do throws(Errno) {
            _ = try SystemCall.remove(temporary, in: descriptor)
            try SystemCall.symbolicLink(to: EraDirectory.name(era), as: temporary, in: descriptor)
            try SystemCall.rename(temporary, to: EraDirectory.link, in: descriptor)
        } catch {
            throw error.error("cannot replace \(path)/\(EraDirectory.link)")
        }
        try VaultFiles.sync(descriptor, after: "replacing \(EraDirectory.link)")
    }

    /// The numbers N of all directories `era-N` in the vault.
    package func eras() throws(TokenKeepError) -> [UInt64] {
        try VaultFiles.names(in: descriptor).compactMap { EraDirectory.number(of: $0) }
    }

    /// Opens a directory inside the vault's directory; nil if it is missing.
    func openFolder(_ name: String) throws(TokenKeepError) -> OwnedDescriptor? {
        do throws(Errno) {
            return try SystemCall.open(name, in: descriptor.number, O_RDONLY | O_DIRECTORY)
        } catch {
            guard error == .notDirectory || error == .tooManySymbolicLinkLevels else {
                throw error.error("cannot open \(path)/\(name)")
            }
            throw TokenKeepError(
                .corrupt, "\(path)/\(name) is not a directory", module: "vault",
                hint: "nothing was deleted; restore it from a backup")
        }
    }
}
