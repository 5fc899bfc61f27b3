import Glibc
import SystemPackage
import TokenKeepCore
import TokenKeepKeys

/// The directory `pending`, which contains an empty file (a hint) for each record that has pending changes.
///
/// An empty directory shows a reader without any key that nothing is pending. A hint becomes durable before its record
/// gets a pending change, and is removed after the record has none. A superfluous hint only makes readers read a
/// record, but a missing hint would lose a pending change.
struct PendingHints {
    static let folder = "pending"
    private let directory: EraFolder

    init(_ era: EraDirectory) { directory = EraFolder(name: PendingHints.folder, era: era) }

    /// Whether no record has pending changes, judged by the hints alone.
    ///
    /// Takes the same time for any number of hints, because every load calls this function.
    func areNone() throws(TokenKeepError) -> Bool {
        guard let folder = try directory.open() else { return true }
        return try !RecordNames.hasAny(in: folder)
    }

    /// The records that may have pending changes, by their file names (16 bytes each).
    func all() throws(TokenKeepError) -> [[UInt8]] {
        guard let folder = try directory.open() else { return [] }
        return try RecordNames.all(in: folder)
    }

    /// Durably adds the hint of a record: an empty file that marks the record as having pending changes.
    ///
    /// - Parameter hadPending: whether the record already had pending changes. If false, even an existing hint is
    ///   synced, because the process that made the hint may have been killed before its sync.
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

    /// Removes a record's hint without a sync. A hint that reappears after a power failure is checked and removed
    /// again.
    func remove(_ name: [UInt8]) throws(TokenKeepError) { try directory.remove(file: Hexadecimal.text(name)) }
}
