import Glibc
import SystemPackage
import TokenKeepCore
import TokenKeepKeys

/// The directory `pending`: an empty file for each record with pending writes, so that a reader sees without any key that
/// nothing is pending.
///
/// A hint is durable before its record and is removed after it: one too many costs a look, one too few would lose a pending
/// write.
struct PendingHints {
    static let folder = "pending"
    private let directory: EraFolder

    init(_ era: EraDirectory) { directory = EraFolder(name: PendingHints.folder, era: era) }

    /// Whether there is none. Every load asks: the answer takes no longer the more is pending.
    func areNone() throws(TokenKeepError) -> Bool {
        guard let folder = try directory.open() else { return true }
        return try !RecordNames.hasAny(in: folder)
    }

    /// The names of the records that may have pending writes, in binary.
    func all() throws(TokenKeepError) -> [[UInt8]] {
        guard let folder = try directory.open() else { return [] }
        return try RecordNames.all(in: folder)
    }

    /// - Parameter hadPending: whether the record had pending writes before. The process that wrote a hint may have been killed
    ///   before it was durable; only if the record has pending writes, it is known to be.
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

    /// Removes a hint. It need not be durable: a hint that reappears is looked at and removed again.
    func remove(_ name: [UInt8]) throws(TokenKeepError) { try directory.remove(file: Hexadecimal.text(name)) }
}
