import Glibc
import SystemPackage
import TokenKeepCore

/// The directory `owed`: an empty file for each record that owes something, so that a reader sees without any key that
/// nothing is owed.
///
/// A hint is durable before its record and goes after it: one too many costs a look, one too few would lose a debt.
struct OwedHints {
    static let folder = "owed"
    private let notes: RecordNotes

    init(_ vault: VaultDirectory) { notes = RecordNotes(folder: OwedHints.folder, vault: vault) }

    /// The names of the records that may owe something, in binary.
    func all() throws(TokenKeepError) -> [[UInt8]] {
        guard let folder = try notes.open() else { return [] }
        return try RecordNames.all(in: folder)
    }

    func add(_ name: [UInt8]) throws(TokenKeepError) {
        let file = RecordNames.fileName(name)
        let folder = try notes.openOrMake(isDurable: true)
        do throws(Errno) {
            guard try SystemCall.status(of: file, in: folder.number) == nil else { return }
            _ = try SystemCall.open(file, in: folder.number, O_WRONLY | O_CREAT, mode: 0o600)
        } catch {
            throw error.error("cannot write \(OwedHints.folder)/\(file)")
        }
        try VaultFiles.sync(folder, after: "writing a hint")
    }

    /// Removes a hint. It need not be durable: a hint that comes back is looked at and removed again.
    func remove(_ name: [UInt8]) throws(TokenKeepError) { try notes.remove(name) }
}
