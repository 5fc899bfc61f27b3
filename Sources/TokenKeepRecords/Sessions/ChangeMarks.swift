import Glibc
import SystemPackage
import TokenKeepCore
import TokenKeepKeys

/// The file `sessions/slots`: 8 random bytes for each session, replaced when the session's tokens or state change.
///
/// A session is a signed-in account.
///
/// A program with a token in memory compares these bytes before each use of the token, with one read. If the file is
/// damaged or missing, the program reads the session again, so the file need not be durable.
package final class ChangeMarks: Sendable {
    static let file = "slots"

    private let records: Records
    private let opened = MutexGuarded<OwnedDescriptor?>(nil)

    package init(_ records: Records) { self.records = records }

    /// A session's random bytes as a number. The number is different after every change of the session's tokens or
    /// state.
    ///
    /// nil if the bytes cannot be read.
    package func value(of id: [UInt8]) -> UInt64? {
        guard let file = opened.withLock({ $0 }) ?? open() else { return nil }
        var value: UInt64 = 0
        var status = stat()
        let isRead = withUnsafeMutableBytes(of: &value) { bytes in
            pread(file.number, bytes.baseAddress, 8, ChangeMarks.offset(of: id)) == 8
        }
        // If the vault's keys were replaced, the open file has been removed and its bytes are out of date.
        guard isRead, value != 0, fstat(file.number, &status) == 0, status.st_nlink == 1 else {
            opened.withLock { $0 = nil }
            return nil
        }
        return value
    }

    /// Replaces a session's 8 bytes in the file by other random bytes, so that other processes notice that the session
    /// changed.
    ///
    /// A failure is ignored, because programs also check the expiry time of a token.
    package func change(_ id: [UInt8]) {
        guard let file = open(isWritable: true) else { return }
        var value = RandomBytes.id()
        _ = withUnsafeBytes(of: &value) { pwrite(file.number, $0.baseAddress, 8, ChangeMarks.offset(of: id)) }
    }

    private func open(isWritable: Bool = false) -> OwnedDescriptor? {
        guard let vault = try? records.open(), let folder = try? SessionLock.folder(of: vault.directory) else {
            return nil
        }
        let flags = isWritable ? O_RDWR | O_CREAT : O_RDONLY
        guard let file = try? SystemCall.openRegular(ChangeMarks.file, in: folder.number, flags, mode: 0o600) else {
            return nil
        }
        if !isWritable { opened.withLock { $0 = file } }
        return file
    }

    private static func offset(of id: [UInt8]) -> off_t {
        id.prefix(2).reduce(off_t(0)) { $0 << 8 | off_t($1) } * 8
    }
}
