import Glibc
import SystemPackage
package import TokenKeepCore
package import TokenKeepKeys

/// The file `generation`, whose value changes before and after every change of a record.
///
/// If an item moves between modules, a reader may ask each module at a moment when the item is in the other, and miss
/// it. After a changed value the reader reads the modules again.
package struct Generation {
    fileprivate static let file = "generation"
    private let opened: OwnedDescriptor

    /// Opens the file, and makes it if it is missing.
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

    /// Writes a new random value. With random values, writers need not wait for each other, and no value returns.
    ///
    /// A mapped counter would work too, but costs a save 30 µs.
    package func renew() throws(TokenKeepError) {
        var value = UInt64.random(in: .min ... .max)
        do throws(Errno) {
            try SystemCall.overwrite(opened, with: &value, count: MemoryLayout<UInt64>.size)
        } catch {
            throw error.error("cannot write \(Generation.file)")
        }
    }

    /// The present value; 0 if the file is missing.
    static func read(in directory: VaultDirectory) throws(TokenKeepError) -> UInt64 {
        guard let bytes = try VaultFiles.read(file, in: directory.descriptor, atMost: 8) else { return 0 }
        return bytes.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    }
}

/// The file `generation`, kept open by a frequent reader.
final class HeldGeneration: Sendable {
    private let opened: OwnedDescriptor

    /// Opens the file; nil if it is missing. A reader does not make the file.
    init?(_ directory: VaultDirectory) {
        let found = try? SystemCall.openRegular(Generation.file, in: directory.descriptor.number, O_RDONLY)
        guard let opened = found ?? nil else { return nil }
        self.opened = opened
    }

    /// The present value; nil if it cannot be read whole.
    var value: UInt64? {
        var value: UInt64 = 0
        let size = MemoryLayout<UInt64>.size
        guard pread(opened.number, &value, size, 0) == size else { return nil }
        return UInt64(littleEndian: value)
    }
}
