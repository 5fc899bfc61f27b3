/// The process-wide pool of guarded memory, by its former name. Callers may leave it out: every secret uses the pool.
public final class SecretArena: Sendable {
    /// The pool of the process.
    public init() {}

    /// Whether the memory of all secrets is locked, so that none is swapped out.
    ///
    /// - Throws: ``Status/io`` if the kernel grants no memory.
    public func isLockedInMemory() throws(TokenKeepError) -> Bool { try GuardedPool.shared.isLocked() }
}
