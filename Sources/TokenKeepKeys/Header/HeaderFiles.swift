import Glibc
import SystemPackage
package import TokenKeepCore

/// The files in `era-N` that contain a vault's keys: two copies of the header (the encrypted keys), and the keyfile.
package enum HeaderFiles {
    /// The names of the two copies of the header, in the order in which a reader tries them.
    package static let names = ["header", "header.2"]

    static func write(
        _ header: [UInt8], to name: String, in era: EraDirectory
    ) throws(TokenKeepError) {
        try header.lent { bytes throws(TokenKeepError) in
            try VaultFiles.replace(name, in: era.descriptor, with: bytes)
        }
    }

    /// The file names of the missing copies of the header: `header`, `header.2` or both.
    package static func missing(in era: EraDirectory) throws(TokenKeepError) -> [String] {
        var missing: [String] = []
        for name in names where try !VaultFiles.exists(name, in: era.descriptor) { missing.append(name) }
        return missing
    }

    /// Reads one copy of the header, and opens it with the keyfile.
    static func open(
        _ name: String, of era: EraDirectory, with keyfile: Keyfile, _ residentKeys: ClassKeyStore
    ) throws(TokenKeepError) -> (file: [UInt8], keys: KeyRing) {
        guard let file = try VaultFiles.readVersioned(name, in: era.descriptor, atMost: Header.maximumLength) else {
            throw FormatFault.malformed("it is missing").error(in: name)
        }
        do throws(FormatFault) {
            let keys = try KeyRing.open(
                headerFile: file, keyfile: keyfile, era: era.number, residentKeys: residentKeys)
            return (file, keys)
        } catch {
            throw error.error(in: name)
        }
    }

    /// The names of the copies of the header (the file of encrypted keys) that are damaged or altered.
    ///
    /// A writer gives each of these copies a second name before it writes an intact copy.
    static func failing(
        in era: EraDirectory, with keyfile: Keyfile, _ headerKey: SecretBytes, _ residentKeys: ClassKeyStore
    ) throws(TokenKeepError) -> [String] {
        var failing: [String] = []
        for name in names {
            do throws(TokenKeepError) {
                let file = try open(name, of: era, with: keyfile, residentKeys).file
                guard try HeaderMAC.isRightB(file, headerKey: headerKey) else { throw HeaderTrust.refusal }
            } catch {
                // A header that a later version wrote does not count as damaged, so that it is never replaced.
                guard error.status == .corrupt else { throw error }
                failing.append(name)
            }
        }
        return failing
    }

    /// Reads the keyfile.
    ///
    /// - Throws: ``Status/corrupt`` if the keyfile is missing or damaged.
    static func keyfile(of era: EraDirectory) throws(TokenKeepError) -> Keyfile {
        guard let bytes = try VaultFiles.readVersionedSecret(Keyfile.name, in: era.descriptor, atMost: Keyfile.length)
        else {
            throw TokenKeepError(
                .corrupt, "the vault in \(era.path) has lost its keyfile", module: "vault", hint: keyfileHint)
        }
        do throws(FormatFault) {
            let keyfile = try bytes.withUnsafeBytes { bytes throws(FormatFault) in try Keyfile.parse(bytes) }
            guard keyfile.era == era.number else { throw FormatFault.malformed("it belongs to another era") }
            return keyfile
        } catch {
            let error = error.error(in: Keyfile.name)
            guard error.status == .corrupt else { throw error }
            throw TokenKeepError(error.status, error.message, module: "vault", hint: keyfileHint)
        }
    }

    private static let keyfileHint = "restore the file keyfile from a backup: without it nothing can be opened"
}
