import Foundation
import FoundationNetworking
import TokenKeep

/// The present account's session, client, queue and background tasks.
final class BoundSession: Sendable {
    let observed: ObservedSession
    let client: SessionClient
    let queue: OfflineQueue
    private let tasks = Guarded<[Task<Void, Never>]>([])

    var session: TokenSession { observed.tokens }

    init(
        _ session: TokenSession, _ options: SessionManagerOptions, _ broadcast: Broadcast<SessionEvent>
    ) throws(APIError) {
        observed = ObservedSession(session)
        client = SessionClient(session: session, options.urlSession.configuration, broadcast)
        for origin in options.origins { try client.allow(origin: origin) }
        queue = OfflineQueue(client: client, level: options.queueLevel)
        options.cleanup.register(on: session)
    }

    deinit { stop() }

    func start(_ body: @escaping @Sendable () async -> Void) {
        let task = Task { await body() }
        tasks.withLock { $0.append(task) }
    }

    /// Cancels the background tasks. Running requests continue.
    func stop() {
        let tasks = tasks.withLock { tasks in
            defer { tasks = [] }
            return tasks
        }
        for task in tasks { task.cancel() }
    }
}
