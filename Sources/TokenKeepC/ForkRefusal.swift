import CSystemShims
import TokenKeepCore

/// The error of a call in a child of `fork()` that may run no call.
///
/// An earlier call makes the error object, because making one in the child could wait for a lock of the Swift runtime
/// that nobody will release.
enum ForkRefusal {
    /// Makes the error object, once per process. Called inside a call.
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
