extension Deadline {
    /// Passes the call's cancellation to a waiting C function, as a predicate and its data. Both are nil if the call
    /// cannot be cancelled.
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
