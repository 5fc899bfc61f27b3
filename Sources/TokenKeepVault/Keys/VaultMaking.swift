import Glibc
import SystemPackage
import TokenKeepCore

/// Makes the files of a new vault, each durable before the next; a crash leaves something that the next try completes.
enum VaultMaking {
    static func make(
        in directory: VaultDirectory, arena: SecretArena, _ call: CallContext
    ) throws(TokenKeepError) {
        try refuseIfForeign(directory)
        let lock = try VaultLock(.whole, of: directory, call)
        defer { lock.release() }
        let names = ["header", "header.2"]
        for name in names {
            // Another process was faster.
            if try VaultFiles.read(name, in: directory.descriptor, atMost: Header.maximumLength) != nil { return }
        }
        try refuseIfDamaged(directory)
        do throws(Errno) {
            _ = try SystemCall.makeDirectory("records", in: directory.descriptor.number)
        } catch {
            throw error.error("cannot make \(directory.path)/records")
        }
        let keyfile = try keyfile(in: directory, arena: arena)
        let header = try NewVault.header(for: keyfile, in: arena)
        for name in names.reversed() {
            try header.lent { bytes throws(TokenKeepError) in
                try VaultFiles.replace(name, in: directory.descriptor, with: bytes)
            }
        }
    }

    /// A directory without a header is no vault yet; one that has records has lost its header, and a new one would make
    /// them unreadable for good.
    static func refuseIfDamaged(_ directory: VaultDirectory) throws(TokenKeepError) {
        guard let records = try directory.openRecords() else { return }
        guard try RecordNames.all(in: records).isEmpty else {
            throw TokenKeepError(
                .corrupt, "the vault in \(directory.path) has records but no header", module: "vault",
                hint: "restore the file header from a backup, or move the directory away to begin anew")
        }
    }

    /// A vault is not made among a user's own files.
    private static func refuseIfForeign(_ directory: VaultDirectory) throws(TokenKeepError) {
        let own = ["lock", "records", "keyfile", "header", "header.2", "owed", "used", "generation", "changed"]
        let names = try VaultFiles.names(in: directory.descriptor)
        guard let foreign = names.first(where: { name in !own.contains { name == $0 || name == $0 + ".tmp" } }) else {
            return
        }
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
