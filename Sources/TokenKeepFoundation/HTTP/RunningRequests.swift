/// The requests of a session that are under way, which its end cancels.
final class RunningRequests: Sendable {
    private struct State {
        var cancels: [Int: @Sendable () -> Void] = [:]
        var cancelled: Set<Int> = []
        var next = 0
        var isWatched = false
        /// The value of `next` when the session was last looked at.
        var seen = 0
    }

    /// Half of the time within which a logout by another process reaches the requests.
    private static let interval = Duration.milliseconds(500)
    private let state = Guarded(State())
    private let hasEnded: @Sendable () async -> Bool

    /// - Parameter hasEnded: whether the session has ended, which another process may have done.
    init(_ hasEnded: @escaping @Sendable () async -> Bool) { self.hasEnded = hasEnded }

    /// Runs a request in the caller's task.
    ///
    /// - Throws: ``APIError/authenticationRequired`` if the session ended meanwhile.
    func run<Value>(_ body: (RunningRequest) async throws -> Value) async throws -> Value {
        let running = RunningRequest()
        let number = add { running.cancel() }
        let result: Result<Value, any Error>
        do {
            result = .success(try await body(running))
        } catch {
            result = .failure(error)
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
        let (number, isWatched) = state.withLock { state in
            defer {
                state.next += 1
                state.isWatched = true
            }
            state.cancels[state.next] = cancel
            return (state.next, state.isWatched)
        }
        if !isWatched { Task { await watch() } }
        return number
    }

    /// Looks at the session twice in a second, while there are requests.
    private func watch() async {
        while isBusy() {
            try? await Task.sleep(for: Self.interval, clock: .continuous)
            if await hasEnded() { cancelAll() }
        }
    }

    /// Whether there are requests, or were since the last call. The watch ends otherwise.
    private func isBusy() -> Bool {
        state.withLock { state in
            state.isWatched = !state.cancels.isEmpty || state.seen != state.next
            state.seen = state.next
            return state.isWatched
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

/// A request that is under way. The end of its session cancels the work for which the request waits.
///
/// The request has no task of its own, because the end of a task costs a change of threads.
final class RunningRequest: Sendable {
    private struct State {
        var isCancelled = false
        var cancel: (@Sendable () -> Void)?
    }

    private let state = Guarded(State())

    func cancel() {
        let cancel = state.withLock { state in
            state.isCancelled = true
            return state.cancel
        }
        cancel?()
    }

    /// Waits for work that `cancel` ends, which may be called twice.
    func wait<Value>(
        until cancel: @escaping @Sendable () -> Void, _ work: () async throws -> Value
    ) async throws -> Value {
        let isCancelled = state.withLock { state in
            state.cancel = cancel
            return state.isCancelled
        }
        defer { state.withLock { $0.cancel = nil } }
        if isCancelled { cancel() }
        return try await work()
    }

    /// Waits for work in a task of its own. Work that need not wait ends on this thread.
    func wait<Value: Sendable>(for work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let task = Task.immediate { try await work() }
        return try await wait(until: { task.cancel() }) {
            try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
        }
    }
}
