import Glibc
import SystemPackage
import TokenKeepCore
import TokenKeepKeys

/// The directory `pending`: an empty file (a hint) for each record with pending writes.
///
/// Without any key, a reader sees that nothing is pending. A hint becomes durable before its record, and is removed
/// after it: a superfluous hint costs a read of a record, a missing hint would lose a pending write.
struct PendingHints {
    static let folder = "pending"
    private let directory: EraFolder

    init(_ era: EraDirectory) { directory = EraFolder(name: PendingHints.folder, era: era) }

    /// Whether there are no hints. Every load asks this, so the time does not depend on the number of hints.
    func areNone() throws(TokenKeepError) -> Bool {
        guard let folder = try directory.open() else { return true }
        return try !RecordNames.hasAny(in: folder)
    }

    /// The file names of the records that may have pending writes, as bytes.
    func all() throws(TokenKeepError) -> [[UInt8]] {
        guard let folder = try directory.open() else { return [] }
        return try RecordNames.all(in: folder)
    }

    /// Adds a hint, durably.
    ///
    /// - Parameter hadPending: whether the record had pending writes before. Only then an existing hint is known to be
    ///   durable: the process that wrote the hint may have been killed before syncing it.
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

    /// Removes a hint. The removal need not be durable: a hint that reappears is checked and removed again.
    func remove(_ name: [UInt8]) throws(TokenKeepError) { try directory.remove(file: Hexadecimal.text(name)) }
}
