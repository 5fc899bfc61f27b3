import Glibc
import SystemPackage
import TokenKeepCore

/// The directory `sent`: a file for each item and module where a value was sent to the module and not answered, or has arrived
/// in one that dates nothing, with the fingerprints of such values. Readers need not look: only who changes the item does.
struct SentValues {
    static let folder = "sent"
    /// How many fingerprints a file may hold.
    private static let maximum = 16
    private let notes: RecordNotes

    init(_ vault: VaultDirectory) { notes = RecordNotes(folder: SentValues.folder, vault: vault) }

    /// The name of the file of an item and a module.
    static func file(of name: [UInt8], module: String) -> String { RecordNames.fileName(name) + "." + module }

    /// Adds a fingerprint to a file, which is made if it is missing. Not durable.
    func append(_ fingerprint: [UInt8], to name: String) throws(TokenKeepError) {
        let known = try fingerprints(in: name)
        guard !known.contains(fingerprint), known.count < SentValues.maximum else { return }
        let folder = try notes.openOrMake(isDurable: false)
        do throws(Errno) {
            try SentValues.write(fingerprint, to: name, in: folder, O_APPEND)
        } catch {
            throw error.error("cannot write to \(SentValues.folder)")
        }
    }

    /// Leaves these fingerprints alone in a file. Not durable, but never half.
    func replace(with fingerprints: [[UInt8]], in file: String) throws(TokenKeepError) {
        guard let folder = try notes.open() else { return }
        let temporary = file + ".tmp"
        do throws(Errno) {
            try SentValues.write(Array(fingerprints.joined()), to: temporary, in: folder, O_TRUNC)
            try SystemCall.rename(temporary, to: file, in: folder)
        } catch {
            throw error.error("cannot write to \(SentValues.folder)")
        }
    }

    private static func write(
        _ bytes: [UInt8], to name: String, in folder: OwnedDescriptor, _ how: Int32
    ) throws(Errno) {
        guard
            let file = try SystemCall.openRegular(name, in: folder.number, O_WRONLY | O_CREAT | how, mode: 0o600)
        else { throw Errno.noSuchFileOrDirectory }
        var failure: Errno?
        bytes.withUnsafeBytes { bytes in
            do throws(Errno) { try SystemCall.write(bytes, to: file) } catch { failure = error }
        }
        if let failure { throw failure }
    }

    /// The fingerprints in a file; what a crash made of it is none of ours.
    func fingerprints(in name: String) throws(TokenKeepError) -> [[UInt8]] {
        guard let folder = try notes.open() else { return [] }
        let length = DebtFormat.fingerprintLength
        let bytes =
            try VaultFiles.read(name, in: folder, atMost: length * SentValues.maximum) ?? []
        return stride(from: 0, to: bytes.count - bytes.count % length, by: length).map {
            Array(bytes[$0..<$0 + length])
        }
    }

    /// Removes a file. It need not be durable: one that comes back is passed over when the item is next saved.
    func remove(_ file: String) throws(TokenKeepError) { try notes.remove(file: file) }
}
