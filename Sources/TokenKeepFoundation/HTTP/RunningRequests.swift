/// The running requests of a session. When the session ends, they are cancelled.
final class RunningRequests: Sendable {
    private struct State {
        var cancels: [Int: @Sendable () -> Void] = [:]
        var cancelled: Set<Int> = []
        var next = 0
        var isWatched = false
        /// The value of `next` at the last check by ``watch()``.
        var seen = 0
    }

    /// The interval between two checks of the session's state. A logout by another process cancels the requests within
    /// twice this time.
    private static let interval = Duration.milliseconds(500)
    private let state = Guarded(State())
    private let hasEnded: @Sendable () async -> Bool

    /// Makes an empty list.
    ///
    /// - Parameter hasEnded: returns whether the session has ended, also by another process.
    init(_ hasEnded: @escaping @Sendable () async -> Bool) { self.hasEnded = hasEnded }

    /// Runs `body`, which sends a request, in the caller's task.
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

    /// Calls `cancel` if the session ends while the returned object exists. Used for a response's body that is still
    /// being read.
    func follow(_ cancel: @escaping @Sendable () -> Void) -> Following {
        let number = add(cancel)
        return Following { [weak self] in _ = self?.remove(number) }
    }

    /// Cancels all running requests.
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

    /// Checks the session's state twice a second while requests are running, and cancels them if it has ended.
    private func watch() async {
        while isBusy() {
            try? await Task.sleep(for: Self.interval, clock: .continuous)
            if await hasEnded() { cancelAll() }
        }
    }

    /// Whether a request is running or was added since the last call. Otherwise the watch ends.
    private func isBusy() -> Bool {
        state.withLock { state in
            state.isWatched = !state.cancels.isEmpty || state.seen != state.next
            state.seen = state.next
            return state.isWatched
        }
    }

    /// Removes a request. Returns whether ``cancelAll()`` had cancelled it.
    private func remove(_ number: Int) -> Bool {
        state.withLock { state in
            state.cancels[number] = nil
            return state.cancelled.remove(number) != nil
        }
    }

    /// An object that calls a closure when its last reference is released.
    final class Following: Sendable {
        private let end: @Sendable () -> Void

        init(_ end: @escaping @Sendable () -> Void) { self.end = end }

        deinit { end() }
    }
}

/// A running request. When its session ends, the operation that the request is waiting for is cancelled.
///
/// The request runs in its caller's task, because a separate task would cost a thread switch at its end.
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

    /// Runs `work` and waits for it. If the request is cancelled, calls `cancel` to end the work, possibly twice.
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

    /// Runs `work` in its own task and waits for the task. Work that does not suspend runs on this thread.
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
