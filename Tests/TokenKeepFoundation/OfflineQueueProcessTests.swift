import Foundation
import FoundationNetworking
import Glibc
import TestSupport
import Testing
import TokenKeep

@testable import TokenKeepFoundation

/// A queue of a process that is killed between two steps, and of several processes.
///
/// A step is the begin of a change, each write of an item, each removal, and the arrival of each answer.
@Suite(.timeLimit(.minutes(20))) struct OfflineQueueProcessTests {
    private let world = FoundationWorld()
    private let server: KeyServer

    init() throws { server = try KeyServer() }

    /// The account's queue for a process.
    private struct Place: Codable, Sendable {
        let directory: String
        let origin: String

        /// The queue of a process that is killed at a step; never for 0.
        func queue(killedAt last: Int = 0) async throws -> OfflineQueue {
            let store = try TokenStore(.init(stackText: "any required vault"), vaultPath: directory + "/vault")
            let session = try await TokenSession(store: store, service: "api.example.com", account: "ann")
            let client = SessionClient(session: session, .ephemeral, Broadcast())
            try client.allow(origin: origin)
            let steps = Guarded(0)
            return OfflineQueue(client: client) {
                let step = steps.withLock { steps in
                    steps += 1
                    return steps
                }
                if step == last { kill(getpid(), SIGKILL) }
            }
        }

        /// A request whose key is the begin of its body.
        func request(_ body: String) throws -> URLRequest {
            var request = URLRequest(url: try #require(URL(string: origin + "/orders")))
            request.httpMethod = "POST"
            request.httpBody = Data(body.utf8)
            request.setValue(String(body.prefix(20)), forHTTPHeaderField: "Idempotency-Key")
            return request
        }
    }

    private func place() async throws -> Place {
        _ = try await world.signedIn()
        return Place(directory: world.directory.path, origin: server.loopback.origin)
    }

    private func isVaultWithoutRequests() async throws -> Bool {
        try await world.store().list(service: QueueStorage.service).items.isEmpty
    }

    /// A body of two parts.
    private static let long = "long" + String(repeating: "x", count: 1 << 20)

    /// A long request has 4 steps: the change, two parts, the head. A short one has 2.
    @Test(arguments: 1...7) func aKillWhileARequestIsAddedLosesNoneThatWasAdded(step: Int) async throws {
        let place = try await place()
        try await place.queue().add(place.request("first"))
        await #expect(processExitsWith: step <= 6 ? .signal(SIGKILL) : .success) { [place = place as Place, step] in
            let queue = try await place.queue(killedAt: step)
            for (number, body) in [OfflineQueueProcessTests.long, "short"].enumerated() {
                try await queue.add(place.request(body))
                try Data().write(to: URL(filePath: "\(place.directory)/added-\(number)"))
            }
        }
        let added = world.directory.names().filter { $0.hasPrefix("added-") }.count
        let queue = try await place.queue()
        try await queue.add(place.request("last"))
        try await queue.send { _, _ in }
        // A request whose head was written is there, though its call did not return.
        let present = server.done.count - 2
        #expect(present == added || present == added + 1)
        #expect(server.done == ["first"] + [Self.long, "short"].prefix(present) + ["last"])
        #expect(try await isVaultWithoutRequests())
    }

    /// For each request: the answer, the change, and the removal of its items.
    @Test(arguments: 1...9) func aKillWhileARequestIsSentRepeatsItWithItsKey(step: Int) async throws {
        let place = try await place()
        let queue = try await place.queue()
        for body in [Self.long, "short"] { try await queue.add(place.request(body)) }
        await #expect(processExitsWith: step <= 8 ? .signal(SIGKILL) : .success) { [place = place as Place, step] in
            try await place.queue(killedAt: step).send { _, _ in }
        }
        try await queue.send { _, _ in }
        #expect(server.done == [Self.long, "short"])
        #expect(try await isVaultWithoutRequests())
    }

    @Test func aThousandRequestsArriveOnceAndInOrderThoughTheirSendersAreKilled() async throws {
        let place = try await place()
        let queue = try await place.queue()
        for number in 0..<1_000 { try await queue.add(place.request("\(number)")) }
        var numbers = SeededNumbers(seed: 17)
        for _ in 0..<12 {
            let step = Int.random(in: 1...240, using: &numbers)
            await #expect(processExitsWith: .signal(SIGKILL)) { [place = place as Place, step = step as Int] in
                try await place.queue(killedAt: step).send { _, _ in }
            }
        }
        try await queue.send { _, _ in }
        #expect(server.done == (0..<1_000).map(String.init))
        #expect(try await isVaultWithoutRequests())
    }

    @Test func ofThreeProcessesOneSendsAtATime() async throws {
        let place = try await place()
        let queue = try await place.queue()
        for number in 0..<100 { try await queue.add(place.request("\(number)")) }
        async let others: Void = withTaskGroup(of: Void.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    await #expect(processExitsWith: .success) { [place = place as Place] in
                        let queue = try await place.queue()
                        while try await !queue.requests.isEmpty { try await queue.send { _, _ in } }
                    }
                }
            }
        }
        // More come while both send.
        for number in 100..<150 { try await queue.add(place.request("\(number)")) }
        await others
        try await queue.send { _, _ in }
        #expect(server.done == (0..<150).map(String.init))
        #expect(server.loopback.requests.count == 150)
    }
}
