import Foundation

/// The requests of a session that are under way, which its end cancels.
final class RunningRequests: Sendable {
    private struct State {
        var tasks: [Int: @Sendable () -> Void] = [:]
        var cancelled: Set<Int> = []
        var next = 0
    }

    private let state = Guarded(State())

    /// Runs a request.
    ///
    /// - Throws: ``APIError/authenticationRequired`` if the session ended meanwhile.
    func run<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let task = Task { try await body() }
        let number = state.withLock { state in
            defer { state.next += 1 }
            state.tasks[state.next] = { task.cancel() }
            return state.next
        }
        let result = await withTaskCancellationHandler {
            await task.result
        } onCancel: {
            task.cancel()
        }
        let hasEnded = state.withLock { state in
            state.tasks[number] = nil
            return state.cancelled.remove(number) != nil
        }
        if hasEnded { throw APIError.authenticationRequired }
        return try result.get()
    }

    /// Cancels all requests that are under way.
    func cancelAll() {
        let tasks = state.withLock { state in
            state.cancelled.formUnion(state.tasks.keys)
            return Array(state.tasks.values)
        }
        for cancel in tasks { cancel() }
    }
}
