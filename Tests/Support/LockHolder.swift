import Glibc

/// Holds the lock of a whole vault, as another process would.
public final class LockHolder: Sendable {
    private let descriptor: Int32

    /// Locks the file, which must exist; nil where that fails.
    public init?(_ path: String) {
        descriptor = open(path, O_RDWR)
        var range = flock()
        range.l_type = Int16(F_WRLCK)
        range.l_len = 1 << 62
        let setLockOfDescription: Int32 = 37  // F_OFD_SETLK
        guard descriptor >= 0, fcntl(descriptor, setLockOfDescription, &range) == 0 else { return nil }
    }

    /// Lets the next one in.
    public func release() { close(descriptor) }
}
