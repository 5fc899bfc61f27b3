import Glibc
import SystemPackage
import TokenKeepCore

/// Makes the files of a new vault, each durable before the next; a crash leaves something that the next try completes.
enum VaultMaking {
    ///
    /// A vault whose making was cut short, or that lost one of its two headers, is completed.
    static func make(
        in directory: VaultDirectory, cache: KeyCache, arena: SecretArena, _ call: CallContext
    ) throws(TokenKeepError) {
        if try missingHeaders(directory).count == headers.count { try refuseIfForeign(directory) }
        let lock = try VaultLock(.whole, of: directory, call)
        defer { lock.release() }
        let missing = try missingHeaders(directory)
        guard missing.count == headers.count else {
            // The copy that is there is opened before it is copied: damage must not spread.
            let (header, _) = try cache.readHeader(of: directory)
            for name in missing { try write(header, to: name, in: directory) }
            return try VaultFiles.sync(directory.descriptor, after: "making the vault")
        }
        guard try !hasRecords(directory) else { throw headersLost(directory) }
        do throws(Errno) {
            _ = try SystemCall.makeDirectory("records", in: directory.descriptor.number)
        } catch {
            throw error.error("cannot make \(directory.path)/records")
        }
        let keyfile = try keyfile(in: directory, arena: arena)
        let header = try NewVault.header(for: keyfile, in: arena)
        for name in headers.reversed() { try write(header, to: name, in: directory) }
    }

    /// Whether both copies of the header are there.
    static func isComplete(_ directory: VaultDirectory) throws(TokenKeepError) -> Bool {
        try missingHeaders(directory).isEmpty
    }

    /// Whether there is any record: a directory that has some was a vault.
    static func hasRecords(_ directory: VaultDirectory) throws(TokenKeepError) -> Bool {
        guard let records = try directory.openRecords() else { return false }
        return try !RecordNames.all(in: records).isEmpty
    }

    /// A new header would make the records unreadable for good.
    static func headersLost(_ directory: VaultDirectory) -> TokenKeepError {
        TokenKeepError(
            .corrupt, "the vault in \(directory.path) has records but no header", module: "vault",
            hint: "restore the file header from a backup, or move the directory away to begin anew")
    }

    /// The two copies, in the order in which they are read.
    static let headers = ["header", "header.2"]

    private static func missingHeaders(_ directory: VaultDirectory) throws(TokenKeepError) -> [String] {
        var missing: [String] = []
        do throws(Errno) {
            for name in headers where try SystemCall.status(of: name, in: directory.descriptor.number) == nil {
                missing.append(name)
            }
        } catch {
            throw error.error("cannot inspect \(directory.path)/header")
        }
        return missing
    }

    static func write(
        _ header: [UInt8], to name: String, in directory: VaultDirectory
    ) throws(TokenKeepError) {
        try header.lent { bytes throws(TokenKeepError) in
            try VaultFiles.replace(name, in: directory.descriptor, with: bytes)
        }
    }

    /// A vault is not made among a user's own files.
    private static func refuseIfForeign(_ directory: VaultDirectory) throws(TokenKeepError) {
        let own = ["lock", "records", "keyfile", "header", "header.2", "owed", "sent", "used", "generation", "changed"]
        let names = try VaultFiles.names(in: directory.descriptor)
        let foreign = names.first { name in
            // What file systems put into a directory by themselves, and what damage leaves behind, is no obstacle.
            name != "lost+found" && !name.hasPrefix(".nfs") && !name.hasPrefix("header.corrupt-")
                && !own.contains { name == $0 || name == $0 + ".tmp" }
        }
        guard let foreign else { return }
        throw TokenKeepError(
            .invalid, "\(directory.path) is no vault and holds other files (\(foreign))", module: "vault",
            hint: "choose a directory that is empty or does not exist")
    }

    /// The keyfile of a making that was interrupted, or a new one.
    private static func keyfile(
        in directory: VaultDirectory, arena: SecretArena
    ) throws(TokenKeepError) -> Keyfile {
        if let keyfile = try KeyCache.readKeyfile(of: directory, in: arena) { return keyfile }
        let keyfile = try NewVault.keyfile(in: arena)
        try keyfile.serialized(in: arena).lent { bytes throws(TokenKeepError) in
            try VaultFiles.replace("keyfile", in: directory.descriptor, with: bytes)
        }
        return keyfile
    }
}
