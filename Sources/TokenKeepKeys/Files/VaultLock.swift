import CSystemShims
import Glibc
import SystemPackage
package import TokenKeepCore

/// A lock on one item or on the whole vault, which excludes other processes and threads until it is released.
package struct VaultLock {
    private let descriptor: Int32

    /// The object that is locked: an item, the right to prompt about an item, the whole vault, or its verified headers.
    package enum Range {
        case item(id: [UInt8])
        /// The right to prompt the user about an item. Held during the prompt, while the item itself is not locked.
        case asking(id: [UInt8])
        case whole
        /// The verified headers that the kernel keeps. Held while these headers are compared and replaced.
        case trust
    }

    /// Waits for the lock until the deadline.
    ///
    /// While another caller waits for the whole vault, the lock of an item waits up to a second longer.
    ///
    /// - Throws: ``Status/busy`` if the deadline passes first, ``Status/cancelled`` if the call is cancelled.
    package init(_ range: Range, of directory: VaultDirectory, _ call: CallContext) throws(TokenKeepError) {
        let (offset, length) = VaultLock.bytes(of: range)
        var descriptor: Int32 = -1
        let milliseconds = call.deadline.remainingMilliseconds
        let error = call.deadline.lendingCancellation { isCancelled, data in
            tokenkeep_lock_acquire(
                directory.descriptor.number, "lock", offset, length, VaultLock.gate(of: range), milliseconds,
                isCancelled,
                data, &descriptor)
        }
        self.descriptor = descriptor
        if error == EBUSY {
            let what =
                switch range {
                case .item, .asking: "the item"
                case .whole, .trust: "the vault"
                }
            throw call.deadline.failure(
                "another process holds \(what) past the deadline", else: .busy, module: "vault", hint: "try again")
        }
        guard error == 0 else {
            if case .trust = range, VaultLock.isUnwritable.contains(error) { return }
            throw Errno(rawValue: error).error("cannot lock \(directory.path)/lock")
        }
        do throws(TokenKeepError) {
            // Check for cancellation although the lock was acquired: the same cancellation may have ended the call that
            // held the lock.
            try call.deadline.checkCancellation()
        } catch {
            tokenkeep_lock_release(descriptor)
            throw error
        }
    }

    /// Acquires the lock without waiting; nil if another process or thread holds it.
    package init?(trying range: Range, of directory: VaultDirectory) throws(TokenKeepError) {
        let (offset, length) = VaultLock.bytes(of: range)
        var descriptor: Int32 = -1
        let error = tokenkeep_lock_try(directory.descriptor.number, "lock", offset, length, &descriptor)
        if error == EBUSY { return nil }
        guard error == 0 else { throw Errno(rawValue: error).error("cannot lock \(directory.path)/lock") }
        self.descriptor = descriptor
    }

    package func release() { if descriptor >= 0 { tokenkeep_lock_release(descriptor) } }

    /// The error numbers that mean a read-only vault. No process can replace the header of such a vault, so an unlock
    /// needs no lock of the verified headers.
    private static let isUnwritable = [EROFS, EACCES, EPERM]

    private static let firstOfAsking: off_t = 1 << 62

    /// The bytes of the lock file that represent the locked object.
    ///
    /// - an item: one byte, whose offset is 62 bits of the item's ID
    /// - the right to prompt about an item: one byte at the same offset after the bytes of all items
    /// - the whole vault: the bytes of all items, but not those of the rights to prompt, because a prompt may take long
    /// - the verified headers: the last byte; the byte before it is the gate of callers that wait for the whole vault
    private static func bytes(of range: Range) -> (offset: off_t, length: off_t) {
        switch range {
        case .whole: return (0, firstOfAsking)
        case .item(let id): return (offset(of: id), 1)
        case .asking(let id): return (firstOfAsking + offset(of: id), 1)
        case .trust: return (.max, 1)
        }
    }

    /// Whether a lock closes, passes or ignores the gate. A caller that waits for the whole vault closes the gate to
    /// new locks of items, because a series of these locks would starve this caller.
    private static func gate(of range: Range) -> tokenkeep_lock_gate {
        switch range {
        case .whole: TOKENKEEP_CLOSING_GATE
        case .item: TOKENKEEP_PASSING_GATE
        case .asking, .trust: TOKENKEEP_NO_GATE
        }
    }

    private static func offset(of id: [UInt8]) -> off_t {
        off_t(id.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) } & (1 << 62 - 1))
    }
}
