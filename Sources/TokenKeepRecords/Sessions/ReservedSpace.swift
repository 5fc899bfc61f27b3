import CSystemShims
import Glibc
import SystemPackage
package import TokenKeepCore
import TokenKeepKeys

/// Reserved disk space in the vault's file system. No other program can use the space until it is released.
package final class ReservedSpace: Sendable {
    private let file: MutexGuarded<OwnedDescriptor?>

    /// Reserves `length` bytes. Reserves nothing on a file system that does not support reservations.
    ///
    /// - Throws: ``Status/io`` if the disk or quota is full, or the file system is read-only.
    package init(_ length: Int, _ records: Records, _ call: CallContext) throws(TokenKeepError) {
        let folder = try SessionLock.folder(of: records.openOrMake(call).directory)
        do throws(Errno) {
            file = MutexGuarded(try ReservedSpace.make(length, in: folder))
        } catch {
            throw error.error("cannot reserve space in \(SessionFiles.folder)")
        }
    }

    /// Releases the reserved disk space, which can be used at once.
    package func release() { file.withLock { $0 = nil } }

    /// Makes an unnamed file, which the kernel removes when its descriptor is closed; nil if reservations are not
    /// supported.
    private static func make(_ length: Int, in folder: OwnedDescriptor) throws(Errno) -> OwnedDescriptor? {
        let file = tokenkeep_reserve_space(folder.number, off_t(length))
        guard file < 0 else { return OwnedDescriptor(file) }
        let error = Errno(rawValue: errno)
        guard ![.noSpace, .diskQuotaExceeded, .readOnlyFileSystem].contains(error) else { throw error }
        return nil
    }
}
