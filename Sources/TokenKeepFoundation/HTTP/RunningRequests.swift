/// The requests of a session that are under way, which its end cancels.
final class RunningRequests: Sendable {
    private struct State {
        var cancels: [Int: @Sendable () -> Void] = [:]
        var cancelled: Set<Int> = []
        var next = 0
    }

    private let state = Guarded(State())

    /// Runs a request.
    ///
    /// - Throws: ``APIError/authenticationRequired`` if the session ended meanwhile.
    func run<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let task = Task { try await body() }
        let number = add { task.cancel() }
        let result = await withTaskCancellationHandler {
            await task.result
        } onCancel: {
            task.cancel()
        }
        if remove(number) { throw APIError.authenticationRequired }
        return try result.get()
    }

    /// Cancels a body that is read, until the returned object is released.
    func follow(_ cancel: @escaping @Sendable () -> Void) -> Following {
        let number = add(cancel)
        return Following { [weak self] in _ = self?.remove(number) }
    }

    /// Cancels all requests that are under way.
    func cancelAll() {
        let cancels = state.withLock { state in
            state.cancelled.formUnion(state.cancels.keys)
            return Array(state.cancels.values)
        }
        for cancel in cancels { cancel() }
    }

    private func add(_ cancel: @escaping @Sendable () -> Void) -> Int {
        state.withLock { state in
            defer { state.next += 1 }
            state.cancels[state.next] = cancel
            return state.next
        }
    }

    /// Returns whether the request was cancelled by ``cancelAll()``.
    private func remove(_ number: Int) -> Bool {
        state.withLock { state in
            state.cancels[number] = nil
            return state.cancelled.remove(number) != nil
        }
    }

    /// Ends with its last reference.
    final class Following: Sendable {
        private let end: @Sendable () -> Void

        init(_ end: @escaping @Sendable () -> Void) { self.end = end }

        deinit { end() }
    }
}
