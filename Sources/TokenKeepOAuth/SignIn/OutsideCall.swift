import CSystemShims

/// Waits outside the C API. If the thread is inside a call of the C API, leaves it during the wait, so that fork() in
/// another thread is not delayed.
enum OutsideCall {
    static func run<Value>(_ wait: () -> Value) -> Value {
        guard tokenkeep_call_is_inside() != 0 else { return wait() }
        tokenkeep_call_leave()
        defer { tokenkeep_call_resume() }
        return wait()
    }
}
