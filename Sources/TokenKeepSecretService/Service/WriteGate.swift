import CSystemShims
import Glibc
import TokenKeepCore

/// Serialises the changes of an item within this process, so that two threads cannot both make the item.
final class WriteGate: @unchecked Sendable {
    private static let count = 16
    private let mutexes = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: WriteGate.count)

    init() {
        for index in 0..<WriteGate.count { pthread_mutex_init(mutexes + index, nil) }
    }

    deinit {
        for index in 0..<WriteGate.count { pthread_mutex_destroy(mutexes + index) }
        mutexes.deallocate()
    }

    /// Runs `body` while no other thread of this process changes the item.
    ///
    /// - Throws: ``Status/busy`` if another thread still changes the item at the deadline; ``Status/cancelled``; the
    ///   errors of `body`.
    func withLock<Result>(
        _ name: ItemName, until deadline: Deadline, _ body: () throws(TokenKeepError) -> Result
    ) throws(TokenKeepError) -> Result {
        let mutex = mutexes + Int(UInt(bitPattern: name.hashValue) % UInt(WriteGate.count))
        let milliseconds = deadline.remainingMilliseconds
        let error = deadline.lendingCancellation { tokenkeep_mutex_lock(mutex, milliseconds, $0, $1) }
        guard error == 0 else { throw deadline.failure("another thread is still changing \(name)", else: .busy) }
        defer { pthread_mutex_unlock(mutex) }
        return try body()
    }
}
