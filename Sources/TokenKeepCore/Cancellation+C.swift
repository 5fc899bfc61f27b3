extension Deadline {
    /// Lends what cancels the call to a C function that waits: a question, and the data that goes with it; both nil where
    /// nothing cancels it.
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
