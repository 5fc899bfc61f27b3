import CSodium
import CSystemShims
import Glibc

/// The memory of one secret in a ``GuardedPool``.
package struct GuardedCell: @unchecked Sendable {
    /// The address of the secret's first byte, a multiple of 16.
    package let address: UnsafeMutableRawPointer
    /// The number of the secret's bytes, without the zero byte that follows the secret.
    package let count: Int
    let region: GuardedRegion

    package var bytes: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(start: address, count: count) }
}

/// The memory in which secrets are kept: regions that consist of cells of one size, each cell for one secret.
///
/// A guard page stands before and after each region. Regions are left out of core dumps, and locked into memory if
/// RLIMIT_MEMLOCK allows it. For each cell size, one empty region is kept, so that secrets made and freed in a loop
/// need no system call. The lists of free cells are outside the regions. A write beyond the bounds of a secret aborts
/// the process, at the latest when the secret is freed.
///
/// The pool may be used from any thread, and in a child of fork(). The child has copies of the secrets, and locks the
/// memory of the copies when it first allocates a secret.
package final class GuardedPool: Sendable {
    /// The pool that all secrets of the process use.
    package static let shared: GuardedPool = {
        let pool = GuardedPool()
        var handlers = tokenkeep_fork_handlers(
            before: { GuardedPool.shared.state.lock() },
            after_in_parent: { GuardedPool.shared.state.unlock() },
            after_in_child: { GuardedPool.shared.state.unlock { $0.mustLockAgain = true } })
        tokenkeep_fork_set_pool_handlers(&handlers)
        return pool
    }()

    private static let canary = CellCanary()

    private let state = MutexGuarded(PoolState())

    /// Makes a pool that has no memory yet. Only ``shared`` can be used after fork().
    package init() {}

    /// Allocates `count` zeroed bytes.
    ///
    /// - Throws: ``Status/io`` if the kernel gives no more memory.
    package func allocate(_ count: Int) throws(TokenKeepError) -> GuardedCell {
        try Sodium.start()
        guard count >= 0, count <= Int.max / 4 else { throw SecretBytes.exhausted(count) }
        let (region, cell) = try takeCell(for: count)
        guard let start = cell.baseAddress else { throw SecretBytes.exhausted(count) }
        // Put the secret at the end of its cell: a write past the end of a large secret then soon meets the guard page.
        let offset = (cell.count - CellCanary.count - count) & ~(CellCanary.count - 1)
        let allocated = GuardedCell(address: start + offset, count: count, region: region)
        GuardedPool.canary.write(around: allocated)
        return allocated
    }

    /// Wipes a secret and frees its memory. Aborts the process if a write beyond the secret's bounds is detected.
    package func free(_ cell: GuardedCell) {
        guard GuardedPool.canary.isIntact(around: cell) else { GuardedPool.abortProcess() }
        sodium_memzero(cell.address - CellCanary.count, cell.count + 2 * CellCanary.count)
        state.withLock { $0.returnCell(at: cell.address, of: cell.region) }?.pages.release()
    }

    /// Whether all regions of the pool are locked into memory, so that no secret is swapped out.
    ///
    /// A pool without regions maps a first region.
    ///
    /// - Throws: ``Status/io`` if the kernel gives no memory.
    package func isLocked() throws(TokenKeepError) -> Bool {
        free(try allocate(1))
        return state.withLock { $0.unlockedCount == 0 }
    }

    /// The number of mapped memory regions, including empty ones.
    package var regionCount: Int { state.withLock { $0.regionCount } }

    private func takeCell(for count: Int) throws(TokenKeepError) -> PoolState.Cell {
        let sizeClass = SizeClass(for: count)
        // Map the region outside the lock, because it takes long to lock the many pages of a large secret into memory.
        let ownPages = sizeClass == .ownPages ? GuardedRegion(of: sizeClass, for: count) : nil
        let taken = state.withLock { state -> PoolState.Cell? in
            if let ownPages { state.add(ownPages) }
            if let taken = state.takeCell(of: sizeClass) { return taken }
            guard sizeClass != .ownPages, let region = GuardedRegion(of: sizeClass, for: count) else { return nil }
            state.add(region)
            return state.takeCell(of: sizeClass)
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
