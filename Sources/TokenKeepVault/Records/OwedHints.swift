import Glibc
import SystemPackage
import TokenKeepCore

/// The directory `owed`: a file for each record that owes something, so that a reader sees without any key that
/// nothing is owed. It is empty, or holds the fingerprints of values on their way to a module.
///
/// A hint is durable before its record and goes after it: one too many costs a look, one too few would lose a debt.
struct OwedHints {
    static let folder = "owed"
    private let vault: VaultDirectory

    init(_ vault: VaultDirectory) { self.vault = vault }

    /// The names of the records that may owe something, in binary.
    func all() throws(TokenKeepError) -> [[UInt8]] {
        guard let folder = try open() else { return [] }
        return try RecordNames.all(in: folder)
    }

    /// - Parameter isDurable: whether a hint that is there was made durable; one of a value on its way was not.
    func add(_ name: [UInt8], isDurable: Bool) throws(TokenKeepError) {
        let file = RecordNames.fileName(name)
        let folder = try openOrMake()
        do throws(Errno) {
            if isDurable, try SystemCall.status(of: file, in: folder.number) != nil { return }
            _ = try SystemCall.open(file, in: folder.number, O_WRONLY | O_CREAT, mode: 0o600)
        } catch {
            throw error.error("cannot write \(OwedHints.folder)/\(file)")
        }
        try VaultFiles.sync(folder, after: "writing a hint")
    }

    /// Removes a hint. It need not be durable: a hint that comes back is looked at and removed again.
    func remove(_ name: [UInt8]) throws(TokenKeepError) {
        guard let folder = try open() else { return }
        do throws(Errno) {
            _ = try SystemCall.remove(RecordNames.fileName(name), in: folder)
        } catch {
            throw error.error("cannot remove a hint")
        }
    }

    /// How many fingerprints of 16 bytes a hint may hold.
    private static let maximumFingerprints = 16

    /// Puts a fingerprint into a hint, which is made if it is missing. Not durable.
    func append(_ fingerprint: [UInt8], to name: [UInt8]) throws(TokenKeepError) {
        let known = try fingerprints(in: name)
        guard !known.contains(fingerprint), known.count < OwedHints.maximumFingerprints else { return }
        let folder = try openOrMake()
        do throws(Errno) {
            let flags = O_WRONLY | O_CREAT | O_APPEND
            guard let file = try SystemCall.open(RecordNames.fileName(name), in: folder.number, flags, mode: 0o600)
            else { throw Errno.noSuchFileOrDirectory }
            var failure: Errno?
            fingerprint.withUnsafeBytes { bytes in
                do throws(Errno) { try SystemCall.write(bytes, to: file) } catch { failure = error }
            }
            if let failure { throw failure }
        } catch {
            throw error.error("cannot write a hint")
        }
    }

    /// The fingerprints in a hint; what a crash made of it is none of ours.
    func fingerprints(in name: [UInt8]) throws(TokenKeepError) -> [[UInt8]] {
        guard let folder = try open() else { return [] }
        let length = DebtFormat.fingerprintLength
        let bytes =
            try VaultFiles.read(
                RecordNames.fileName(name), in: folder, atMost: length * OwedHints.maximumFingerprints) ?? []
        return stride(from: 0, to: bytes.count - bytes.count % length, by: length).map {
            Array(bytes[$0..<$0 + length])
        }
    }

    /// Empties a hint that stays.
    func empty(_ name: [UInt8]) throws(TokenKeepError) {
        guard let folder = try open() else { return }
        do throws(Errno) {
            _ = try SystemCall.open(RecordNames.fileName(name), in: folder.number, O_WRONLY | O_TRUNC)
        } catch {
            throw error.error("cannot write a hint")
        }
    }

    private func openOrMake() throws(TokenKeepError) -> OwnedDescriptor {
        do throws(Errno) {
            if try SystemCall.makeDirectory(OwedHints.folder, in: vault.descriptor.number) {
                try SystemCall.sync(vault.descriptor)
            }
        } catch {
            throw error.error("cannot make \(vault.path)/\(OwedHints.folder)")
        }
        guard let folder = try open() else {
            throw Errno.noSuchFileOrDirectory.error("cannot open \(OwedHints.folder)")
        }
        return folder
    }

    private func open() throws(TokenKeepError) -> OwnedDescriptor? {
        do throws(Errno) {
            return try SystemCall.open(OwedHints.folder, in: vault.descriptor.number, O_RDONLY | O_DIRECTORY)
        } catch {
            throw error.error("cannot open \(vault.path)/\(OwedHints.folder)")
        }
    }
}
