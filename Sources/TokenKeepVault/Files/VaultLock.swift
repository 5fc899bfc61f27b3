import CSystemShims
import Glibc
import SystemPackage
import TokenKeepCore

/// A lock between processes and threads, until it is released.
struct VaultLock {
    private let descriptor: Int32

    /// What is locked.
    enum Range {
        case item(name: [UInt8])
        case whole
    }

    /// Waits for the lock until the deadline.
    ///
    /// - Throws: ``Status/busy`` where it passes first, ``Status/cancelled``.
    init(_ range: Range, of directory: VaultDirectory, _ call: CallContext) throws(TokenKeepError) {
        let (offset, length) = VaultLock.bytes(of: range)
        var descriptor: Int32 = -1
        let milliseconds = call.deadline.remainingMilliseconds
        let error = call.deadline.lendingCancellation { isCancelled, data in
            tokenkeep_lock_acquire(
                directory.descriptor.number, "lock", offset, length, milliseconds, isCancelled, data, &descriptor)
        }
        self.descriptor = descriptor
        if error == EBUSY {
            let what = if case .whole = range { "the vault" } else { "the item" }
            throw call.deadline.failure(
                "another process holds \(what) past the deadline", else: .busy, module: "vault", hint: "try again")
        }
        guard error == 0 else { throw Errno(rawValue: error).error("cannot lock \(directory.path)/lock") }
    }

    /// Lets the next one in.
    func release() { tokenkeep_lock_release(descriptor) }

    /// One byte at an offset from 62 bits of the item's file name; for the whole vault everything.
    private static func bytes(of range: Range) -> (offset: off_t, length: off_t) {
        switch range {
        case .whole: return (0, 0)
        case .item(let name):
            let number = name.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            return (off_t(number & (1 << 62 - 1)), 1)
        }
    }
}
