import CSodium
import CSystemShims
import Glibc

/// A secret's bytes in a ``GuardedPool``.
package struct GuardedSlot: @unchecked Sendable {
    /// The secret's first byte, aligned to 16 bytes.
    package let address: UnsafeMutableRawPointer
    /// The number of bytes. A NUL follows the last byte.
    package let count: Int
    let region: GuardedRegion

    package var bytes: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(start: address, count: count) }
}

/// The memory of secrets: slots by size class, in regions between guard pages.
///
/// Regions are left out of core dumps, and locked into memory if RLIMIT_MEMLOCK allows it. Each size class keeps one
/// empty region, so that secrets made and freed in a loop need no system call. Lists of free slots lie outside the
/// regions. A write out of a secret's bounds aborts the process, at the latest when the secret is freed.
///
/// Safe from any thread, and in a child of fork(): the child has copies of the secrets, and locks their memory on its
/// first allocation.
package final class GuardedPool: Sendable {
    /// The pool of the process.
    package static let shared: GuardedPool = {
        let pool = GuardedPool()
        var handlers = tokenkeep_fork_handlers(
            before: { GuardedPool.shared.state.lock() },
            after_in_parent: { GuardedPool.shared.state.unlock() },
            after_in_child: { GuardedPool.shared.state.unlock { $0.mustLockAgain = true } })
        tokenkeep_fork_set_pool_handlers(&handlers)
        return pool
    }()

    private static let canary = SlotCanary()

    private let state = MutexGuarded(PoolState())

    /// A pool that maps nothing yet. Only ``shared`` survives fork().
    package init() {}

    /// Returns `count` zeroed bytes.
    ///
    /// - Throws: ``Status/io`` if the kernel grants no more memory.
    package func allocate(_ count: Int) throws(TokenKeepError) -> GuardedSlot {
        try Sodium.start()
        guard count >= 0, count <= Int.max / 4 else { throw SecretBytes.exhausted(count) }
        let (region, slot) = try takeSlot(for: count)
        guard let start = slot.baseAddress else { throw SecretBytes.exhausted(count) }
        // The bytes lie at the end of their slot, so that the guard page is near a large secret.
        let offset = (slot.count - SlotCanary.count - count) & ~(SlotCanary.count - 1)
        let allocated = GuardedSlot(address: start + offset, count: count, region: region)
        GuardedPool.canary.write(around: allocated)
        return allocated
    }

    /// Wipes the bytes and frees the slot. Aborts the process if a write went out of bounds.
    package func free(_ slot: GuardedSlot) {
        guard GuardedPool.canary.isIntact(around: slot) else { GuardedPool.abortProcess() }
        sodium_memzero(slot.address - SlotCanary.count, slot.count + 2 * SlotCanary.count)
        state.withLock { $0.returnSlot(at: slot.address, of: slot.region) }?.pages.release()
    }

    /// Whether all regions are locked into memory, so that no secret is swapped out. Maps a region if none exists.
    ///
    /// - Throws: ``Status/io`` if the kernel grants no memory.
    package func isLocked() throws(TokenKeepError) -> Bool {
        free(try allocate(1))
        return state.withLock { $0.unlockedCount == 0 }
    }

    /// The number of mapped regions, including empty ones.
    package var regionCount: Int { state.withLock { $0.regionCount } }

    private func takeSlot(for count: Int) throws(TokenKeepError) -> PoolState.Slot {
        let sizeClass = SizeClass(for: count)
        // Mapped outside the lock: locking the many pages of a large secret into memory takes long.
        let ownPages = sizeClass == .ownPages ? GuardedRegion(of: sizeClass, for: count) : nil
        let taken = state.withLock { state -> PoolState.Slot? in
            if let ownPages { state.add(ownPages) }
            if let taken = state.takeSlot(of: sizeClass) { return taken }
            guard sizeClass != .ownPages, let region = GuardedRegion(of: sizeClass, for: count) else { return nil }
            state.add(region)
            return state.takeSlot(of: sizeClass)
        }
        guard let taken else { throw SecretBytes.exhausted(count) }
        return taken
    }

    private static func abortProcess() -> Never {
        let message: StaticString = "tokenkeep: a write out of a secret's bounds was found; the process is aborted\n"
        _ = write(STDERR_FILENO, message.utf8Start, message.utf8CodeUnitCount)
        abort()
    }
}
