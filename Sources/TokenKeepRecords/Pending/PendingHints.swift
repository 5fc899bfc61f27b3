import Glibc
import SystemPackage
import TokenKeepCore
import TokenKeepKeys

/// The directory `pending`, with an empty file (a hint) for each record that has pending writes.
///
/// An empty directory tells a reader without any key that nothing is pending. A hint becomes durable before its record
/// has a pending write, and is removed after its record has none. A superfluous hint only costs the reading of a
/// record, but a missing hint would lose a pending write.
struct PendingHints {
    static let folder = "pending"
    private let directory: EraFolder

    init(_ era: EraDirectory) { directory = EraFolder(name: PendingHints.folder, era: era) }

    /// Whether no record has pending changes. Looks only for hints: empty files that mark such records.
    ///
    /// Takes the same time for any number of hints, because every load calls this function.
    func areNone() throws(TokenKeepError) -> Bool {
        guard let folder = try directory.open() else { return true }
        return try !RecordNames.hasAny(in: folder)
    }

    /// The records that may have pending writes, by their file names (16 bytes each).
    func all() throws(TokenKeepError) -> [[UInt8]] {
        guard let folder = try directory.open() else { return [] }
        return try RecordNames.all(in: folder)
    }

    /// Durably adds the hint of a record: an empty file which says that changes of the record's item are pending.
    ///
    /// - Parameter hadPending: whether the record already had pending writes. If false, even an existing hint is
    ///   synced, because the process that wrote the hint may have been killed before its sync.
    func add(_ name: [UInt8], hadPending: Bool) throws(TokenKeepError) {
        let file = Hexadecimal.text(name)
        let folder = try directory.openOrMake(isDurable: true)
        do throws(Errno) {
            let isThere = try SystemCall.status(of: file, in: folder.number) != nil
            guard !isThere || !hadPending else { return }
            if !isThere { _ = try SystemCall.openRegular(file, in: folder.number, O_WRONLY | O_CREAT, mode: 0o600) }
        } catch {
            throw error.error("cannot write \(PendingHints.folder)/\(file)")
        }
        try VaultFiles.sync(folder, after: "writing a hint")
    }

    /// Removes a record's hint of pending changes, without a sync: a hint that reappears is checked and removed again.
    func remove(_ name: [UInt8]) throws(TokenKeepError) { try directory.remove(file: Hexadecimal.text(name)) }
}
