import Glibc
import SystemPackage
package import TokenKeepCore
import TokenKeepKeys

/// The directory `sent`: fingerprints of values on their way to modules (docs/format.md, section 1).
///
/// A value that goes straight to a module has no record. If its sender is killed, the value may still arrive, even
/// after a value that was saved later. Nothing is synced: no message survives the end of the machine.
struct SentValues {
    static let folder = "sent"
    private static let maximum = 16
    private let directory: EraFolder
    private let keys: JournalKeys

    init(_ vault: OpenVault) {
        directory = EraFolder(name: SentValues.folder, era: vault.era)
        keys = vault.keys.journal
    }

    private func file(_ name: ItemName, _ module: String) -> String {
        Hexadecimal.text(keys.id(of: name)) + "." + module
    }

    /// Adds a fingerprint. A full file keeps its fingerprints instead: those values may still arrive.
    func append(_ fingerprint: [UInt8], _ name: ItemName, module: String) throws(TokenKeepError) {
        let known = try fingerprints(name, module: module)
        guard !known.contains(fingerprint), known.count < SentValues.maximum else { return }
        let folder = try directory.openOrMake(isDurable: false)
        do throws(Errno) {
            try SentValues.write(fingerprint, to: file(name, module), in: folder, O_APPEND)
        } catch {
            throw error.error("cannot write to \(SentValues.folder)")
        }
    }

    /// Replaces the fingerprints. An empty list removes the file.
    func replace(with fingerprints: [[UInt8]], _ name: ItemName, module: String) throws(TokenKeepError) {
        guard !fingerprints.isEmpty else { return try remove(name, module: module) }
        guard try self.fingerprints(name, module: module) != fingerprints, let folder = try directory.open() else {
            return
        }
        let file = file(name, module)
        do throws(Errno) {
            try SentValues.write(Array(fingerprints.joined()), to: file + ".tmp", in: folder, O_TRUNC)
            try SystemCall.rename(file + ".tmp", to: file, in: folder)
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
        try bytes.lent { bytes throws(Errno) in try SystemCall.write(bytes, to: file) }
    }

    /// The noted fingerprints. An incomplete fingerprint at the end, from an interrupted write, is ignored.
    func fingerprints(_ name: ItemName, module: String) throws(TokenKeepError) -> [[UInt8]] {
        guard let folder = try directory.open() else { return [] }
        let length = PendingWriteFormat.fingerprintLength
        guard
            let bytes = try VaultFiles.read(file(name, module), in: folder, atMost: SentValues.maximum * length)
        else { return [] }
        return stride(from: 0, to: bytes.count - bytes.count % length, by: length).map {
            Array(bytes[$0..<$0 + length])
        }
    }

    /// Removes an item's file; no error if it is missing. Not durable.
    func remove(_ name: ItemName, module: String) throws(TokenKeepError) {
        try directory.remove(file: file(name, module))
    }
}

extension ItemTransaction {
    /// Notes that a value is about to be sent to a module. A failure is ignored: it must not prevent the save.
    package func noteSending(_ fingerprint: [UInt8], to module: String) {
        try? SentValues(vault).append(fingerprint, name, module: module)
    }

    /// Notes that a module has the value. Values sent earlier have arrived before, or never will.
    package func noteArrival(_ fingerprint: [UInt8], in module: any Module) {
        replaceSent(with: module.reportsModificationTime ? [] : [fingerprint], module.name)
    }

    /// Removes the fingerprints of sent values: the module has none of these values and never will.
    package func forgetSent(to module: String) { replaceSent(with: [], module) }

    /// Undoes ``noteSending(_:to:)`` for a value that was not sent.
    ///
    /// - Parameter before: the fingerprints before the value was noted.
    package func takeBackSending(to module: String, leaving before: [[UInt8]]) { replaceSent(with: before, module) }

    /// The fingerprints of the value that a module got last, and of the values that may still arrive.
    package func sent(to module: String) -> [[UInt8]] {
        (try? SentValues(vault).fingerprints(name, module: module)) ?? []
    }

    private func replaceSent(with fingerprints: [[UInt8]], _ module: String) {
        try? SentValues(vault).replace(with: fingerprints, name, module: module)
    }
}
