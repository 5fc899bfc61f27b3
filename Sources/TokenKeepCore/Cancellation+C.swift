extension Deadline {
    /// Calls `body` with a C callback by which a waiting C function learns whether the call was cancelled.
    ///
    /// `body` also gets the callback's argument. Both are nil if the call cannot be cancelled.
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
