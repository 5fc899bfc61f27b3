import CSystemShims

/// Runs a wait outside the C API's call that the thread is in, so that fork() in another thread does not wait, too.
enum OutsideCall {
    static func run<Value>(_ wait: () -> Value) -> Value {
        guard tokenkeep_call_is_inside() != 0 else { return wait() }
        tokenkeep_call_leave()
        defer { tokenkeep_call_resume() }
        return wait()
    }
}
