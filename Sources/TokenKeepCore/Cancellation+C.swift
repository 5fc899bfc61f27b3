extension Deadline {
    /// Calls `body` with a C callback that tells a waiting C function whether the call was cancelled.
    ///
    /// The second argument of `body` is the argument for the callback. Both are nil if the call cannot be cancelled.
    package func lendingCancellation<Result>(
        _ body: ((@convention(c) (UnsafeRawPointer?) -> Int32)?, UnsafeRawPointer?) -> Result
    ) -> Result {
        guard let cancellation else { return body(nil, nil) }
        return withExtendedLifetime(cancellation) {
            body(
                { data in
                    guard let data else { return 0 }
                    return Unmanaged<Cancellation>.fromOpaque(data).takeUnretainedValue().isCancelled ? 1 : 0
                }, UnsafeRawPointer(Unmanaged.passUnretained(cancellation).toOpaque()))
        }
    }
}
