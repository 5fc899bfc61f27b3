import CSystemShims
import TokenKeepCore

/// Provides the error for calls in a child of `fork()` in which no call may run.
///
/// The error object is made before `fork()`, by an earlier call. Making it in the child could wait for ever for a lock
/// of the Swift runtime that a thread of the parent held.
enum ForkRefusal {
    /// Makes the error object, once per process. Must be called inside a call of the C API.
    static func prepare() { _ = once }

    /// The error object, retained for the caller; nil if no call has made it yet.
    static func retained() -> OpaquePointer? {
        guard let error = tokenkeep_call_refusal() else { return nil }
        return OpaquePointer(Unmanaged<ErrorHandle>.fromOpaque(error).retain().toOpaque())
    }

    private static let once: Void = {
        let error = TokenKeepError(
            .forked, "another thread was inside the library when this process was forked",
            hint: "fork while no call runs, or call exec first")
        tokenkeep_call_set_refusal(Unmanaged.passRetained(ErrorHandle(error)).toOpaque())
    }()
}
