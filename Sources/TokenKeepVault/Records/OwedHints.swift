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

    /// Whether there is none. Every load asks: it takes no longer the more is owed.
    func areNone() throws(TokenKeepError) -> Bool {
        guard let folder = try notes.open() else { return true }
        return try !RecordNames.hasAny(in: folder)
    }

    /// The names of the records that may owe something, in binary.
    func all() throws(TokenKeepError) -> [[UInt8]] {
        guard let folder = try notes.open() else { return [] }
        return try RecordNames.all(in: folder)
    }

    /// - Parameter owed: whether the record owed something before. Whoever wrote a hint that is there already may have been
    ///   killed before it was durable; only where the record owes by it, it is known to be.
    func add(_ name: [UInt8], owed: Bool) throws(TokenKeepError) {
        let file = RecordNames.fileName(name)
        let folder = try notes.openOrMake(isDurable: true)
        do throws(Errno) {
            let isThere = try SystemCall.status(of: file, in: folder.number) != nil
            guard !isThere || !owed else { return }
            if !isThere { _ = try SystemCall.openRegular(file, in: folder.number, O_WRONLY | O_CREAT, mode: 0o600) }
        } catch {
            throw error.error("cannot write \(OwedHints.folder)/\(file)")
        }
        try VaultFiles.sync(folder, after: "writing a hint")
    }

    /// Removes a hint. It need not be durable: a hint that comes back is looked at and removed again.
    func remove(_ name: [UInt8]) throws(TokenKeepError) { try notes.remove(name) }
}
