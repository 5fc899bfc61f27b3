import CSystemShims

/// Waiting, if the thread is inside a call of the C API: fork() in another thread does not wait for it, too.
enum OutsideCall {
    static func run<Value>(_ wait: () -> Value) -> Value {
        guard tokenkeep_call_is_inside() != 0 else { return wait() }
        tokenkeep_call_leave()
        defer { tokenkeep_call_resume() }
        return wait()
    }
}
