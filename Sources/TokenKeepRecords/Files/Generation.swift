import Glibc
import SystemPackage
package import TokenKeepCore
package import TokenKeepKeys

/// The file `generation`: another value before and after every change of a record.
///
/// An item that moves between modules may be missed by a reader that looks at one before and at the other after. A value
/// that is no longer the same tells the reader to look again.
package struct Generation {
    fileprivate static let file = "generation"
    private let opened: OwnedDescriptor

    /// Opens the file, which is made if it is missing.
    package init(_ directory: VaultDirectory) throws(TokenKeepError) {
        do throws(Errno) {
            let opened = try SystemCall.openRegular(
                Generation.file, in: directory.descriptor.number, O_WRONLY | O_CREAT, mode: 0o600)
            guard let opened else { throw Errno.noSuchFileOrDirectory }
            self.opened = opened
        } catch {
            throw error.error("cannot open \(Generation.file)")
        }
    }

    /// Sets another value. It is random: several writers need not wait for each other, and no value returns. A mapped
    /// counter would do too, but costs a save 30 µs.
    package func renew() throws(TokenKeepError) {
        var value = UInt64.random(in: .min ... .max)
        do throws(Errno) {
            try SystemCall.overwrite(opened, with: &value, count: MemoryLayout<UInt64>.size)
        } catch {
            throw error.error("cannot write \(Generation.file)")
        }
    }

    /// The value now; 0 where there is none.
    static func read(in directory: VaultDirectory) throws(TokenKeepError) -> UInt64 {
        guard let bytes = try VaultFiles.read(file, in: directory.descriptor, atMost: 8) else { return 0 }
        return bytes.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    }
}

/// The file `generation`, held open by a reader who looks often.
final class HeldGeneration: Sendable {
    private let opened: OwnedDescriptor

    /// nil where there is no such file: a reader makes none.
    init?(_ directory: VaultDirectory) {
        let found = try? SystemCall.openRegular(Generation.file, in: directory.descriptor.number, O_RDONLY)
        guard let opened = found ?? nil else { return nil }
        self.opened = opened
    }

    /// The value now; nil where it cannot be read whole.
    var value: UInt64? {
        var value: UInt64 = 0
        let size = MemoryLayout<UInt64>.size
        guard pread(opened.number, &value, size, 0) == size else { return nil }
        return UInt64(littleEndian: value)
    }
}
