import Glibc
import SystemPackage
import TokenKeepCore
import TokenKeepKeys

/// A directory inside the vault's current `era-N` directory, with at most one file for each record.
struct EraFolder {
    /// The name of this directory, for example `pending`.
    let name: String
    let era: EraDirectory

    /// Opens this directory; nil if it is missing.
    func open() throws(TokenKeepError) -> OwnedDescriptor? {
        do throws(Errno) {
            return try SystemCall.open(name, in: era.descriptor.number, O_RDONLY | O_DIRECTORY)
        } catch {
            throw error.error("cannot open \(era.path)/\(name)")
        }
    }

    /// Opens this directory, and makes it if it is missing.
    ///
    /// - Parameter isDurable: whether a new directory is synced, so that it survives a power failure.
    func openOrMake(isDurable: Bool) throws(TokenKeepError) -> OwnedDescriptor {
        if let opened = try open() { return opened }
        do throws(Errno) {
            let isNew = try SystemCall.makeDirectory(name, in: era.descriptor.number)
            if isNew, isDurable { try SystemCall.sync(era.descriptor) }
        } catch {
            throw error.error("cannot make \(era.path)/\(name)")
        }
        guard let opened = try open() else { throw Errno.noSuchFileOrDirectory.error("cannot open \(name)") }
        return opened
    }

    /// Removes a file. A missing file is not an error. The removal is not synced.
    func remove(file: String) throws(TokenKeepError) {
        guard let opened = try open() else { return }
        do throws(Errno) {
            _ = try SystemCall.remove(file, in: opened)
        } catch {
            throw error.error("cannot remove from \(name)")
        }
    }
}
