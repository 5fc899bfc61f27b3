import TokenKeepCore

/// Objects that modules refer to by a pointer.
///
/// A module may keep a pointer too long, or invent a pointer. The pointer is therefore only a number that identifies an
/// object. It is never dereferenced, and no later object gets the same number.
final class LentObjects<Object: AnyObject & Sendable>: Sendable {
    private struct State {
        var last: UInt = 0
        var objects: [UInt: Object] = [:]
    }

    private let state = MutexGuarded(State())

    /// Retains an object until ``reclaim(_:)``, and returns the pointer that refers to the object.
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

    /// Releases the object that a pointer refers to. Does nothing if the object was already released.
    func reclaim(_ pointer: UnsafeMutableRawPointer) {
        // Released outside the lock, because the object's deinit may run other code.
        _ = state.withLock { $0.objects.removeValue(forKey: UInt(bitPattern: pointer)) }
    }

    /// The object that a pointer refers to; nil if the object was released or never lent.
    subscript(_ pointer: UnsafeMutableRawPointer?) -> Object? {
        state.withLock { $0.objects[UInt(bitPattern: pointer)] }
    }
}
