import CSystemShims
import Glibc
import SystemPackage
package import TokenKeepCore

/// A lock between processes and threads, until it is released.
package struct VaultLock {
    private let descriptor: Int32

    /// What is locked.
    package enum Range {
        case item(id: [UInt8])
        /// The right to ask the user about an item: for a person's time, while the item itself is not locked.
        case asking(id: [UInt8])
        case whole
    }

    /// Waits for the lock until the deadline.
    ///
    /// - Throws: ``Status/busy`` where it passes first, ``Status/cancelled``.
    package init(_ range: Range, of directory: VaultDirectory, _ call: CallContext) throws(TokenKeepError) {
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
        do throws(TokenKeepError) {
            // Whoever had it may have let go because the same was cancelled.
            try call.deadline.checkCancellation()
        } catch {
            tokenkeep_lock_release(descriptor)
            throw error
        }
    }

    /// Takes the lock where nobody else has it; nil where somebody has.
    package init?(trying range: Range, of directory: VaultDirectory) throws(TokenKeepError) {
        let (offset, length) = VaultLock.bytes(of: range)
        var descriptor: Int32 = -1
        let error = tokenkeep_lock_try(directory.descriptor.number, "lock", offset, length, &descriptor)
        if error == EBUSY { return nil }
        guard error == 0 else { throw Errno(rawValue: error).error("cannot lock \(directory.path)/lock") }
        self.descriptor = descriptor
    }

    /// Lets the next one in.
    package func release() { tokenkeep_lock_release(descriptor) }

    private static let firstOfAsking: off_t = 1 << 62

    /// One byte at an offset from 62 bits of the item's ID, and for asking about it one as far behind all those; for
    /// the whole vault every byte of items: nobody waits for a person.
    private static func bytes(of range: Range) -> (offset: off_t, length: off_t) {
        switch range {
        case .whole: return (0, firstOfAsking)
        case .item(let id): return (offset(of: id), 1)
        case .asking(let id): return (firstOfAsking + offset(of: id), 1)
        }
    }

    private static func offset(of id: [UInt8]) -> off_t {
        off_t(id.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) } & (1 << 62 - 1))
    }
}
