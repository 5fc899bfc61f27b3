import CTokenKeep
import Glibc
import TokenKeepCore
import TokenKeepEngine

// How every entry point of the C API behaves, in the order in which it does so:
//
// 1. It runs on the caller's thread, to its end: no task, no queue, no other thread.
// 2. Whatever C hands over may be NULL, too long, no UTF-8 or out of range. Inputs are checked first, lengths before
//    contents; what is wrong is INVALID and the message names the argument.
// 3. A handle is borrowed for the length of the call; only close and free consume one.
// 4. Texts and secrets are copied before the store sees them: nothing of the caller's is kept.
// 5. Failures are typed errors, and `Boundary.run` is the one place where they become a status and a tokenkeep_error.
//    Nothing else can be thrown, and nothing traps on what a caller passed.
// 6. Outputs are written last, and only on success; `error` is written only on failure.
// 7. What is returned by `**` is retained for the caller. What a getter returns lives as long as its object.
//
// size_t reaches Swift as Int: a length beyond Int.max is negative here, and is refused as too long.

enum Boundary {
    /// Runs the body of an entry point: OK, or the status of what it throws with the error object for the caller.
    static func run(
        _ error: UnsafeMutablePointer<OpaquePointer?>?, _ body: () throws(TokenKeepError) -> Void
    ) -> tokenkeep_status {
        do throws(TokenKeepError) {
            try body()
            return Status.ok.rawValue
        } catch let failure {
            if let error { error.pointee = retainForC(ErrorHandle(failure)) }
            return failure.status.rawValue
        }
    }

    /// What must not be NULL.
    static func required<Value>(_ value: Value?, _ argument: String) throws(TokenKeepError) -> Value {
        guard let value else { throw TokenKeepError(.invalid, "the \(argument) is NULL") }
        return value
    }

    /// A text that must not be NULL, of at most `limit` bytes.
    static func text(
        _ pointer: UnsafePointer<CChar>?, _ argument: String, atMost limit: Int
    ) throws(TokenKeepError) -> String {
        let pointer = try required(pointer, argument)
        // No further than one byte past the limit: the caller's text may lack its NUL.
        let length = strnlen(pointer, limit + 1)
        guard length <= limit else {
            throw TokenKeepError(.invalid, "the \(argument) is longer than \(limit) bytes")
        }
        let bytes = UnsafeRawBufferPointer(start: pointer, count: length)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw TokenKeepError(.invalid, "the \(argument) is not valid UTF-8")
        }
        return text
    }

    /// A text, or nil for NULL.
    static func optionalText(
        _ pointer: UnsafePointer<CChar>?, _ argument: String, atMost limit: Int
    ) throws(TokenKeepError) -> String? {
        guard pointer != nil else { return nil }
        return try text(pointer, argument, atMost: limit)
    }

    /// A secret, copied into the store's guarded memory. NULL is the empty secret where the length is 0.
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
