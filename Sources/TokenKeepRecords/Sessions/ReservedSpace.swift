import CSystemShims
import Glibc
import SystemPackage
package import TokenKeepCore
import TokenKeepKeys

/// Disk space in the vault's file system, reserved so that no other program can use it until it is released.
package final class ReservedSpace: Sendable {
    private let file: MutexGuarded<OwnedDescriptor?>

    /// Reserves `length` bytes. On a file system without support for reservations, nothing is reserved.
    ///
    /// - Throws: ``Status/io`` if the disk is full or read-only.
    package init(_ length: Int, _ records: Records, _ call: CallContext) throws(TokenKeepError) {
        let folder = try SessionLock.folder(of: records.openOrMake(call).directory)
        do throws(Errno) {
            file = MutexGuarded(try ReservedSpace.make(length, in: folder))
        } catch {
            throw error.error("cannot reserve space in \(SessionFiles.folder)")
        }
    }

    /// Releases the reserved disk space, so that it can be used at once.
    package func release() { file.withLock { $0 = nil } }

    /// Makes a file without a name, which is removed when its descriptor is closed.
    private static func make(_ length: Int, in folder: OwnedDescriptor) throws(Errno) -> OwnedDescriptor? {
        let file = tokenkeep_reserve_space(folder.number, off_t(length))
        guard file < 0 else { return OwnedDescriptor(file) }
        let error = Errno(rawValue: errno)
        guard ![.noSpace, .diskQuotaExceeded, .readOnlyFileSystem].contains(error) else { throw error }
        return nil
    }
}
