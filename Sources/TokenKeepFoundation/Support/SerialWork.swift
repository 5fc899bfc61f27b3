/// Runs asynchronous functions one after another, in the order of the calls. A function runs to its end even if its
/// caller is cancelled.
final class SerialWork: Sendable {
    private let last = Guarded<Task<Void, Never>?>(nil)

    func run<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let task = last.withLock { last in
            let previous = last
            let task = Task {
                await previous?.value
                return try await body()
            }
            last = Task { _ = await task.result }
            return task
        }
        return try await task.value
    }
}
