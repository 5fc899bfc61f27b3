import Foundation
import FoundationNetworking
import Testing
import TokenKeep
import TokenKeepCore

@testable import TokenKeepFoundation

/// The content of a request in the queue, and sends at once.
@Suite(.timeLimit(.minutes(20))) struct QueuedRequestTests {
    private let world = FoundationWorld()

    private func request(_ body: Data) throws -> URLRequest {
        var request = URLRequest(url: try #require(URL(string: "https://api.example.com/orders")))
        request.httpMethod = "POST"
        request.setValue("kept", forHTTPHeaderField: "X-Kept")
        request.httpBody = body
        return request
    }

    private func items(_ request: URLRequest) throws -> [SecretBytes] {
        let url = try #require(request.url)
        let (head, parts) = try StoredRequest(request, url, added: 1, end: 2).items(request)
        return [head] + parts
    }

    @Test(arguments: [0, 1, 14, 15, 65_536, 65_537, 1_048_576, 1_048_577, 2_500_000])
    func aRequestIsReadAsItWasKept(_ length: Int) throws {
        let body = Data((0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        let items = try items(request(body))
        #expect(items.count == (length <= 65_536 ? 1 : 1 + (length + 1_048_575) / 1_048_576))
        let made = try QueuedRequest(items, id: "1").urlRequest()
        #expect(made.httpBody == body)
        #expect(made.httpMethod == "POST")
        #expect(made.value(forHTTPHeaderField: "X-Kept") == "kept")
    }

    /// Memory outside of it is not wiped.
    @Test func theBodyOfARequestIsGuardedMemory() throws {
        let items = try items(request(Data(repeating: 7, count: 1_000)))
        let body = try #require(QueuedRequest(items, id: "1").urlRequest().httpBody)
        let address = body.withUnsafeBytes { $0.baseAddress }
        #expect(address == items[0].unsafeAddress + (items[0].count - 1_000))
    }

    @Test func aHundredSendsAtOnceSendEachRequestOnce() async throws {
        let gate = Gate()
        let server = try LoopbackServer.behind(gate)
        defer { gate.open() }
        let client = try world.client(await world.signedIn(), server)
        let queues = (0..<4).map { _ in OfflineQueue(client: client) }
        for number in 0..<3 { try await queues[0].add(server.request("/\(number)", method: "POST")) }
        let sends = (0..<100).map { number in Task { try await queues[number % 4].send { _, _ in } } }
        await gate.wait(for: 1)
        #expect(try await queues[1].requests.count == 3)
        // A waiting send ends with its task.
        let cancelled = Task { try await queues[2].send { _, _ in } }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        gate.open()
        var sent = 0
        for send in sends { sent += try await send.value }
        #expect(sent == 3)
        #expect(server.requests.map(\.path) == ["/0", "/1", "/2"])
    }
}
