/// The former name of the process-wide pool of guarded memory. Callers may omit it: every secret uses the pool.
public final class SecretArena: Sendable {
    /// The pool of the process.
    public init() {}

    /// Whether the memory of all secrets is locked, so that no secret is swapped out.
    ///
    /// - Throws: ``Status/io`` if the kernel grants no memory.
    public func isLockedInMemory() throws(TokenKeepError) -> Bool { try GuardedPool.shared.isLocked() }
}
