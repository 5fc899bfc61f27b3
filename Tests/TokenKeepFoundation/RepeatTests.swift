import Foundation
import FoundationNetworking
import TestSupport
import Testing
import TokenKeep

@testable import TokenKeepFoundation

/// Repeats after failures of the network, and the ways to read a body.
@Suite(.timeLimit(.minutes(20))) struct RepeatTests {
    private let world = FoundationWorld()

    /// Loses the first requests, then answers.
    private func server(losing count: Int) throws -> LoopbackServer {
        let left = Guarded(count)
        return try LoopbackServer { _ in
            left.withLock { left in
                defer { left -= 1 }
                return left > 0 ? .lost : .init(body: "done")
            }
        }
    }

    @Test(arguments: ["GET", "HEAD", "PUT", "DELETE"])
    func anIdempotentRequestIsRepeated(_ method: String) async throws {
        let (server, pauses) = (try server(losing: 2), Pauses())
        let client = try world.client(await world.signedIn(), server, pauses: pauses)
        let (_, response) = try await client.data(for: server.request("/", method: method))
        #expect(response.statusCode == 200)
        #expect(server.requests.count == 3)
        let all = await pauses.all
        #expect(all.count == 2)
        // One second and two, more or less a fifth.
        #expect(abs(all[0] / .seconds(1) - 1) <= 0.2 && abs(all[1] / .seconds(2) - 1) <= 0.2)
    }

    @Test func threeRepeatsAreTheLimit() async throws {
        let server = try server(losing: 10)
        let client = try world.client(await world.signedIn(), server)
        await #expect(throws: URLError.self) { try await client.data(for: server.request("/")) }
        #expect(server.requests.count == 4)
    }

    @Test func aPostIsRepeatedWithAKeyAlone() async throws {
        let server = try server(losing: 1)
        let client = try world.client(await world.signedIn(), server)
        await #expect(throws: URLError.self) { try await client.data(for: server.request("/", method: "POST")) }
        #expect(server.requests.count == 1)
        let other = try self.server(losing: 1)
        try client.allow(origin: other.origin)
        var request = try other.request("/", method: "POST")
        request.setValue("order-7", forHTTPHeaderField: "Idempotency-Key")
        #expect(try await client.data(for: request).1.statusCode == 200)
        #expect(other.requests.map { $0.headers["idempotency-key"] } == ["order-7", "order-7"])
    }

    @Test(arguments: [429, 503])
    func aShortRetryAfterIsWaitedFor(_ status: Int) async throws {
        let first = Guarded(true)
        let server = try LoopbackServer { _ in
            let isFirst = first.withLock { first in
                defer { first = false }
                return first
            }
            return isFirst ? .init(status: status, headers: ["Retry-After": "2"]) : .init()
        }
        let pauses = Pauses()
        let client = try world.client(await world.signedIn(), server, pauses: pauses)
        #expect(try await client.data(for: server.request("/")).1.statusCode == 200)
        #expect(await pauses.all == [.seconds(2)])
    }

    @Test func aLongRetryAfterIsTheApplications() async throws {
        let server = try LoopbackServer { _ in .init(status: 503, headers: ["Retry-After": "6"]) }
        let client = try world.client(await world.signedIn(), server)
        #expect(try await client.data(for: server.request("/")).1.statusCode == 503)
        #expect(server.requests.count == 1)
    }

    @Test func aBodyIsUploadedFromMemoryAndFromAFile() async throws {
        let server = try LoopbackServer { request in
            request.headers["authorization"] == "Bearer access-2" ? .init(body: request.body) : .init(status: 401)
        }
        let client = try world.client(await world.signedIn(), server)
        world.directory.write(Array("from a file".utf8), to: "body")
        let file = URL(filePath: world.directory.path + "/body")
        // Refused at first: a file can be sent again.
        let (answer, _) = try await client.upload(for: server.request("/", method: "PUT"), fromFile: file)
        #expect(String(decoding: answer, as: UTF8.self) == "from a file")
        let (data, _) = try await client.upload(for: server.request("/", method: "PUT"), from: Data("memory".utf8))
        #expect(String(decoding: data, as: UTF8.self) == "memory")
        #expect(server.requests.map(\.body) == ["from a file", "from a file", "memory"])
    }

    @Test func aDownloadIsAPrivateFile() async throws {
        let server = try LoopbackServer { _ in .init(body: "content") }
        let client = try world.client(await world.signedIn(), server)
        let (file, _) = try await client.download(for: server.request("/"))
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try String(contentsOf: file, encoding: .utf8) == "content")
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? NSNumber
        #expect(mode?.intValue == 0o600)
    }

    @Test func bytesArriveInOrder() async throws {
        let text = String(repeating: "0123456789", count: 10_000)
        let server = try LoopbackServer { _ in .init(body: text) }
        let client = try world.client(await world.signedIn(), server)
        let (bytes, response) = try await client.bytes(for: server.request("/"))
        #expect(response.statusCode == 200)
        var received: [UInt8] = []
        for try await byte in bytes { received.append(byte) }
        #expect(received == Array(text.utf8))
    }

    @Test func aLogoutEndsABodyThatIsRead() async throws {
        let server = try LoopbackServer { _ in .init(headers: ["Content-Length": "1000"], body: "begun", stays: true) }
        let session = try await world.signedIn()
        let client = try world.client(session, server)
        let (bytes, _) = try await client.bytes(for: server.request("/"))
        var iterator = bytes.makeAsyncIterator()
        #expect(try await iterator.next() == UInt8(ascii: "b"))
        try await session.end()
        let error = await #expect(throws: URLError.self) {
            for _ in 0..<10 { _ = try await iterator.next() }
        }
        #expect(error?.code == .cancelled)
    }

    @Test func aBodyThatBreaksOffIsAnError() async throws {
        let server = try LoopbackServer { _ in .init(headers: ["Content-Length": "1000"], body: "begun") }
        let client = try world.client(await world.signedIn(), server)
        await #expect(throws: URLError.self) {
            try await client.data(for: server.request("/", method: "POST"))
        }
        #expect(server.requests.count == 1)
    }
}
