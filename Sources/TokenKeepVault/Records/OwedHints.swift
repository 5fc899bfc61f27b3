import Glibc
import SystemPackage
import TokenKeepCore

/// The directory `owed`: an empty file for each record that owes something, so that a reader sees without any key that
/// nothing is owed.
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

    func add(_ name: [UInt8]) throws(TokenKeepError) {
        let file = RecordNames.fileName(name)
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
        do throws(Errno) {
            guard try SystemCall.status(of: file, in: folder.number) == nil else { return }
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

    private func open() throws(TokenKeepError) -> OwnedDescriptor? {
        do throws(Errno) {
            return try SystemCall.open(OwedHints.folder, in: vault.descriptor.number, O_RDONLY | O_DIRECTORY)
        } catch {
            throw error.error("cannot open \(vault.path)/\(OwedHints.folder)")
        }
    }
}
