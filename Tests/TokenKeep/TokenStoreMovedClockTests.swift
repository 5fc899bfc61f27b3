import Synchronization
import TestSupport
import Testing
import TokenKeep

@Suite struct TokenStoreMovedClockTests {
    private let directory = TemporaryDirectory()

    /// Writers that wait for a lock keep neither a reader nor each other waiting: the reader is done before the first of
    /// them gives up.
    @Test func blockedWritersDelayNobody() async throws {
        let store = try TokenStore(
            .init(stackText: "any required vault", timeout: .seconds(60)), vaultPath: directory.path + "/vault")
        try await store.save("x", service: "s", account: "a")
        let holder = try #require(LockHolder(directory.path + "/vault/lock"))
        defer { holder.release() }
        let given = Counter()
        let path = directory.path
        let writers = (0..<48).map { number in
            Task {
                await expect(.busy) { try await store.save("y", service: "s", account: "\(number)") }
                given.increment()
            }
        }
        await #expect(throws: Never.self) { try await store.load(service: "s", account: "a") }
        #expect(given.value == 0)
        // The writers, which their tasks may cancel, look often whether they were.
        _ = try await TestClock.passLimits(when: { KernelLocks.isWaited(below: path) }, by: 60) {
            for writer in writers { await writer.value }
        }
        #expect(given.value == 48)
    }
}

private final class Counter: Sendable {
    private let count = Mutex(0)

    var value: Int { count.withLock { $0 } }

    func increment() { count.withLock { $0 += 1 } }
}
