import Glibc
import SystemPackage
import TokenKeepCore

/// A directory of the vault in which a file may stand for each record, besides the record itself.
struct RecordNotes {
    /// Its name in the vault.
    let folder: String
    let vault: VaultDirectory

    /// The directory; nil where there is none.
    func open() throws(TokenKeepError) -> OwnedDescriptor? {
        do throws(Errno) {
            return try SystemCall.open(folder, in: vault.descriptor.number, O_RDONLY | O_DIRECTORY)
        } catch {
            throw error.error("cannot open \(vault.path)/\(folder)")
        }
    }

    /// The directory, which is made if it is missing.
    ///
    /// - Parameter isDurable: whether the directory that was made survives a loss of power.
    func openOrMake(isDurable: Bool) throws(TokenKeepError) -> OwnedDescriptor {
        do throws(Errno) {
            let isNew = try SystemCall.makeDirectory(folder, in: vault.descriptor.number)
            if isNew, isDurable { try SystemCall.sync(vault.descriptor) }
        } catch {
            throw error.error("cannot make \(vault.path)/\(folder)")
        }
        guard let opened = try open() else { throw Errno.noSuchFileOrDirectory.error("cannot open \(folder)") }
        return opened
    }

    /// Removes a record's file, there or not. Not durable.
    func remove(_ name: [UInt8]) throws(TokenKeepError) { try remove(file: RecordNames.fileName(name)) }

    /// Removes a file, there or not. Not durable.
    func remove(file: String) throws(TokenKeepError) {
        guard let opened = try open() else { return }
        do throws(Errno) {
            _ = try SystemCall.remove(file, in: opened)
        } catch {
            throw error.error("cannot remove from \(folder)")
        }
    }
}
