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

/// The memory for secrets: regions of equal cells, each cell for one secret.
///
/// A guard page precedes and follows each region. Regions are excluded from core dumps, and are locked into memory if
/// RLIMIT_MEMLOCK allows it. For each cell size, the pool keeps one empty region, so that making and freeing secrets in
/// a loop needs no system call. The lists of free cells are outside the regions. A write beyond a secret's bounds
/// aborts the process, at the latest when the secret is freed.
///
/// Any thread may use the pool, also in a child of fork(). The child has copies of the secrets, and locks their memory
/// when it first allocates a secret.
package final class GuardedPool: Sendable {
    /// The pool for all secrets of the process.
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
    /// - Throws: ``Status/io`` if the kernel provides no more memory.
    package func allocate(_ count: Int) throws(TokenKeepError) -> GuardedCell {
        try Sodium.start()
        guard count >= 0, count <= Int.max / 4 else { throw SecretBytes.exhausted(count) }
        let (region, cell) = try takeCell(for: count)
        guard let start = cell.baseAddress else { throw SecretBytes.exhausted(count) }
        // Put the secret at the end of its cell, so that a write past a large secret soon meets the guard page.
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
    /// Maps a region if the pool has none yet.
    ///
    /// - Throws: ``Status/io`` if the kernel provides no memory.
    package func isLocked() throws(TokenKeepError) -> Bool {
        free(try allocate(1))
        return state.withLock { $0.unlockedCount == 0 }
    }

    /// The number of mapped memory regions, including empty ones.
    package var regionCount: Int { state.withLock { $0.regionCount } }

    private func takeCell(for count: Int) throws(TokenKeepError) -> PoolState.Cell {
        let sizeClass = SizeClass(for: count)
        // Map the region before taking the pool's lock, because locking the pages of a large secret into memory takes
        // long.
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
