import Glibc
import SystemPackage
import TokenKeepCore

/// The open keys of a vault, until its header changes.
final class KeyCache: Sendable {
    private struct Entry {
        let identity: FileStatus.Identity
        let keys: KeyHierarchy
    }

    private let arena: SecretArena
    private let resident: ResidentKeys
    private let entry = Guarded<Entry?>(nil)

    init(arena: SecretArena, resident: ResidentKeys) {
        self.arena = arena
        self.resident = resident
    }

    /// The vault's keys; nil where it has no header, so that it does not exist.
    ///
    /// - Parameter fresh: reads the header again even if it looks the same.
    func keys(of directory: VaultDirectory, fresh: Bool = false) throws(TokenKeepError) -> KeyHierarchy? {
        guard let identity = try identity(in: directory) else { return nil }
        if !fresh, let entry = entry.withLock({ $0 }), entry.identity == identity { return entry.keys }
        let keys = try open(directory)
        entry.withLock { $0 = Entry(identity: identity, keys: keys) }
        return keys
    }

    private func identity(in directory: VaultDirectory) throws(TokenKeepError) -> FileStatus.Identity? {
        do throws(Errno) {
            for file in VaultMaking.headers {
                if let status = try SystemCall.status(of: file, in: directory.descriptor.number) {
                    return status.identity
                }
            }
            return nil
        } catch {
            throw error.error("cannot inspect \(directory.path)/header")
        }
    }

    private func open(_ directory: VaultDirectory) throws(TokenKeepError) -> KeyHierarchy {
        try readHeader(of: directory).keys
    }

    /// The bytes of the first copy of the header that is whole, and the keys it holds.
    func readHeader(of directory: VaultDirectory) throws(TokenKeepError) -> (bytes: [UInt8], keys: KeyHierarchy) {
        let keyfile = try openKeyfile(directory)
        var first: TokenKeepError?
        for file in VaultMaking.headers {
            do throws(TokenKeepError) {
                return try open(file, of: directory, with: keyfile)
            } catch {
                first = first ?? error
            }
        }
        throw KeyCache.noHeader(first)
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

    /// Which copies of the header fail, so that a writer sets them aside.
    func failingHeaders(of directory: VaultDirectory) throws(TokenKeepError) -> [String] {
        let keyfile = try openKeyfile(directory)
        var failing: [String] = []
        for file in VaultMaking.headers {
            do throws(TokenKeepError) {
                _ = try open(file, of: directory, with: keyfile)
            } catch {
                // What a later version wrote is nobody's to replace.
                guard error.status == .corrupt else { throw error }
                failing.append(file)
            }
        }
        return failing
    }

    private func openKeyfile(_ directory: VaultDirectory) throws(TokenKeepError) -> Keyfile {
        guard let keyfile = try KeyCache.readKeyfile(of: directory, in: arena) else {
            throw TokenKeepError(
                .corrupt, "the vault in \(directory.path) has lost its keyfile", module: "vault",
                hint: KeyCache.keyfileHint)
        }
        return keyfile
    }

    private static let keyfileHint = "restore the file keyfile from a backup: without it nothing can be opened"

    /// Whose keys are resident: as the keyfile says, or where it is damaged a header that nothing vouches for. Nil where
    /// there is neither.
    func vaultID(of directory: VaultDirectory) throws(TokenKeepError) -> [UInt8]? {
        let damage: TokenKeepError?
        do throws(TokenKeepError) {
            if let keyfile = try KeyCache.readKeyfile(of: directory, in: arena) { return keyfile.vaultID }
            damage = nil
        } catch {
            damage = error
        }
        for name in VaultMaking.headers {
            guard let bytes = try? VaultFiles.read(name, in: directory.descriptor, atMost: Header.maximumLength),
                let parsed = try? bytes.lent({ bytes throws(FormatFault) in try Header.parse(bytes) })
            else { continue }
            return parsed.header.vaultID
        }
        if let damage { throw damage }
        return nil
    }

    /// The vault's keyfile; nil where there is none.
    static func readKeyfile(
        of directory: VaultDirectory, in arena: SecretArena
    ) throws(TokenKeepError) -> Keyfile? {
        guard
            let bytes = try VaultFiles.readVersionedSecret(
                "keyfile", in: directory.descriptor, atMost: Keyfile.length, arena: arena)
        else { return nil }
        do throws(FormatFault) {
            return try bytes.lent { bytes throws(FormatFault) in try Keyfile.parse(bytes, in: arena) }
        } catch {
            let error = error.error(in: "keyfile")
            guard error.status == .corrupt else { throw error }
            throw TokenKeepError(error.status, error.message, module: "vault", hint: keyfileHint)
        }
    }

    private func open(
        _ file: String, of directory: VaultDirectory, with keyfile: Keyfile
    ) throws(TokenKeepError) -> (bytes: [UInt8], keys: KeyHierarchy) {
        guard
            let bytes = try VaultFiles.readVersioned(file, in: directory.descriptor, atMost: Header.maximumLength)
        else { throw FormatFault.malformed("it is missing").error(in: file) }
        do throws(FormatFault) {
            return (bytes, try KeyHierarchy.open(headerFile: bytes, keyfile: keyfile, resident: resident, in: arena))
        } catch {
            throw error.error(in: file)
        }
    }
}
