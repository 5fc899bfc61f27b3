import Glibc
import SystemPackage
import TokenKeepCore
import TokenKeepKeys

/// A directory of an era in which a file may stand for each record, besides the record itself.
struct EraFolder {
    /// Its name in the era.
    let name: String
    let era: EraDirectory

    /// The directory; nil if there is none.
    func open() throws(TokenKeepError) -> OwnedDescriptor? {
        do throws(Errno) {
            return try SystemCall.open(name, in: era.descriptor.number, O_RDONLY | O_DIRECTORY)
        } catch {
            throw error.error("cannot open \(era.path)/\(name)")
        }
    }

    /// The directory, which is made if it is missing.
    ///
    /// - Parameter isDurable: whether the directory that was made survives a loss of power.
    func openOrMake(isDurable: Bool) throws(TokenKeepError) -> OwnedDescriptor {
        do throws(Errno) {
            let isNew = try SystemCall.makeDirectory(name, in: era.descriptor.number)
            if isNew, isDurable { try SystemCall.sync(era.descriptor) }
        } catch {
            throw error.error("cannot make \(era.path)/\(name)")
        }
        guard let opened = try open() else { throw Errno.noSuchFileOrDirectory.error("cannot open \(name)") }
        return opened
    }

    /// Removes a file, there or not. Not durable.
    func remove(file: String) throws(TokenKeepError) {
        guard let opened = try open() else { return }
        do throws(Errno) {
            _ = try SystemCall.remove(file, in: opened)
        } catch {
            throw error.error("cannot remove from \(name)")
        }
    }
}
