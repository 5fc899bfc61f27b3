import TokenKeepCore

/// Objects that modules name by a pointer. A module may keep a pointer for too long, or make one up: the pointer is a
/// number that is never dereferenced and never used twice.
final class LentObjects<Object: AnyObject & Sendable>: Sendable {
    private struct State {
        var last: UInt = 0
        var objects: [UInt: Object] = [:]
    }

    private let state = MutexGuarded(State())

    /// Retains an object until ``reclaim(_:)``, and returns its pointer.
    func lend(_ object: Object) -> UnsafeMutableRawPointer {
        state.withLock { state in
            while true {
                state.last &+= 16  // like an address, for a module that looks at the low bits
                guard state.objects[state.last] == nil,
                    let pointer = UnsafeMutableRawPointer(bitPattern: state.last)
                else { continue }
                state.objects[state.last] = object
                return pointer
            }
        }
    }

    /// Releases the object of a pointer; does nothing after the first time.
    func reclaim(_ pointer: UnsafeMutableRawPointer) {
        // Released outside the lock: the object's end may run other code.
        _ = state.withLock { $0.objects.removeValue(forKey: UInt(bitPattern: pointer)) }
    }

    /// The object of a pointer; nil if the object was taken back or never lent.
    subscript(_ pointer: UnsafeMutableRawPointer?) -> Object? {
        state.withLock { $0.objects[UInt(bitPattern: pointer)] }
    }
}
