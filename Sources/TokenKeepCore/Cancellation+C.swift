extension Deadline {
    /// Gives `body` a C callback, which a waiting C function calls to learn whether the call was cancelled.
    ///
    /// `body` also gets the argument for the callback. Callback and argument are nil if the call cannot be cancelled.
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
