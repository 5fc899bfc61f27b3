import CSystemShims
import Glibc
import TokenKeepCore
import TokenKeepEngine
import TokenKeepHeaders

// The rules of every entry point of the C API, in the order of execution:
//
// 1. The entry point runs on the caller's thread to its end: no task, no queue, no other thread.
// 2. An argument may be NULL, too long, not UTF-8 or out of range. Inputs are checked first, lengths before contents.
//    A wrong argument is INVALID, and the message names the argument.
// 3. The call borrows its handle. Only close and free functions consume a handle.
// 4. Texts and secrets are copied before the store sees them. The store keeps no memory of the caller.
// 5. Failures are typed errors, and `Boundary.run` is the one place where they become a status and a tokenkeep_error.
//    No other error can be thrown, and no argument of a caller makes the code trap.
// 6. Outputs are written last and only on success; `error` is written only on failure.
// 7. An object returned by `**` is retained for the caller. A getter's result lives as long as the getter's object.
//
// 8. While a call runs, fork() in another thread waits (CSystemShims/fork_gate.c). In a child of a fork() that could not
//    wait so long, every call is FORKED.
//
// size_t reaches Swift as Int: a length beyond Int.max is negative here, and is refused as too long.

enum Boundary {
    /// Runs the body of an entry point and returns OK, or the status of the thrown error.
    ///
    /// On failure `error` receives an error object, owned by the caller.
    static func run(
        _ error: UnsafeMutablePointer<OpaquePointer?>?, _ body: () throws(TokenKeepError) -> Void
    ) -> tokenkeep_status {
        guard tokenkeep_call_enter() != 0 else {
            if let error { error.pointee = ForkRefusal.retained() }
            return Status.forked.rawValue
        }
        defer { tokenkeep_call_leave() }
        ForkRefusal.prepare()
        do throws(TokenKeepError) {
            try body()
            return Status.ok.rawValue
        } catch let failure {
            if let error { error.pointee = retainForC(ErrorHandle(failure)) }
            return failure.status.rawValue
        }
    }

    /// Runs the body of an entry point that returns nothing. Does nothing in a child of fork() in which no call may
    /// run.
    static func run(_ body: () -> Void) {
        guard tokenkeep_call_enter() != 0 else { return }
        defer { tokenkeep_call_leave() }
        body()
    }

    /// Returns the value; throws ``Status/invalid`` for NULL.
    static func required<Value>(_ value: Value?, _ argument: String) throws(TokenKeepError) -> Value {
        guard let value else { throw TokenKeepError(.invalid, "the \(argument) is NULL") }
        return value
    }

    /// Copies a text of at most `limit` bytes. Throws ``Status/invalid`` if the text is NULL, longer or not UTF-8.
    static func text(
        _ pointer: UnsafePointer<CChar>?, _ argument: String, atMost limit: Int
    ) throws(TokenKeepError) -> String {
        let pointer = try required(pointer, argument)
        // At most one byte past the limit is read, because the caller's text may lack its NUL.
        let length = strnlen(pointer, limit + 1)
        guard length <= limit else {
            throw TokenKeepError(.invalid, "the \(argument) is longer than \(limit) bytes")
        }
        let bytes = UnsafeRawBufferPointer(start: pointer, count: length)
        guard let text = String(checking: bytes) else {
            throw TokenKeepError(.invalid, "the \(argument) is not valid UTF-8")
        }
        return text
    }

    /// Copies a text of at most `limit` bytes; nil for NULL. Throws ``Status/invalid`` if the text is longer or is not
    /// UTF-8.
    static func optionalText(
        _ pointer: UnsafePointer<CChar>?, _ argument: String, atMost limit: Int
    ) throws(TokenKeepError) -> String? {
        guard pointer != nil else { return nil }
        return try text(pointer, argument, atMost: limit)
    }

    /// Copies a secret into the store's guarded memory. NULL with length 0 is the empty secret.
    static func secret(
        _ pointer: UnsafeRawPointer?, length: Int, for store: Store
    ) throws(TokenKeepError) -> SecretBytes {
        guard length >= 0 else {
            throw TokenKeepError(.invalid, "the secret is longer than \(Limits.secret) bytes")
        }
        try Limits.checkSecret(count: length)
        guard pointer != nil || length == 0 else {
            throw TokenKeepError(.invalid, "the secret is NULL but its length is \(length)")
        }
        return try store.copySecret(UnsafeRawBufferPointer(start: pointer, count: length))
    }
}
