import Foundation
import FoundationNetworking
import TestSupport
import Testing
import TokenKeep

@testable import TokenKeepFoundation

/// The lines of the seeds' checklist that are about requests.
@Suite(.timeLimit(.minutes(20))) struct HTTPChecklistTests {
    private let world = FoundationWorld()

    private func guest() async throws -> TokenSession {
        let session = try await world.session("guest")
        try await session.begin(.guest, response: .init(#"{"access_token":"visit","expires_in":900}"#))
        return session
    }

    private func error(_ reply: LoopbackServer.Reply) async throws -> (APIError?, SessionEvent?) {
        let server = try LoopbackServer { _ in reply }
        let client = try world.client(await world.signedIn(), server)
        let events = client.events
        let thrown = await #expect(throws: APIError.self) {
            try await client.request(server.request("/", method: "POST"), as: [String: String].self)
        }
        // The next event shows that none was missed before it.
        client.broadcast.send(.sessionExpired)
        var iterator = events.makeAsyncIterator()
        let event = await iterator.next()
        return (thrown, event == .sessionExpired ? nil : event)
    }

    @Test("X-Device-ID header is sent with guest requests only")
    func theDeviceIsNamedForGuestsAlone() async throws {
        let server = try LoopbackServer { _ in .init() }
        let other = try LoopbackServer { _ in .init() }
        let guest = try await guest()
        let client = try world.client(guest, server)
        _ = try await client.data(for: server.request("/"))
        _ = try await client.data(for: server.request("/"))
        _ = try await client.data(for: other.request("/"))
        let device = try await TokenSessions(store: world.store()).deviceID()
        #expect(server.requests.map { $0.headers["x-device-id"] } == [device, device])
        #expect(other.requests.map { $0.headers["x-device-id"] } == [nil])
        // The guest becomes a user.
        try await guest.begin(.user, response: .init(Authority.tokens(1, 3600)))
        var request = try server.request("/")
        request.setValue("forged", forHTTPHeaderField: "X-Device-ID")
        _ = try await client.data(for: request)
        #expect(server.requests.last?.headers["x-device-id"] == nil)
        #expect(server.tokens.last == "Bearer access-1")
    }

    @Test("401 errors are returned for expired/invalid tokens")
    func aRefusedGuestMustSignIn() async throws {
        let server = try LoopbackServer { _ in .init(status: 401) }
        let client = try world.client(await guest(), server)
        var events = client.events.makeAsyncIterator()
        await #expect(throws: APIError.authenticationRequired) { try await client.data(for: server.request("/")) }
        #expect(await events.next() == .authenticationRequired)
        #expect(server.requests.count == 1)
        #expect(try await world.session("guest").state == .signedOut)
    }

    @Test("400 errors returned for missing Device ID on guest requests")
    func aMissingDeviceIsNamed() async throws {
        let body = #"{"error":{"code":"bad","message":"X-Device-ID header is required for guest users"}}"#
        #expect(try await error(.init(status: 400, body: body)).0 == .missingDeviceID)
        #expect(try await error(.init(status: 400, body: #"{"error":{"code":"c","message":"m"}}"#)).0 == .badRequest)
        #expect(try await error(.init(status: 400, body: "X-Device-ID")).0 == .badRequest)
    }

    @Test("429 rate limit errors with proper headers")
    func aRateLimitHasItsHeaders() async throws {
        let headers = ["X-RateLimit-Remaining": "2", "X-RateLimit-Reset": "1800000000", "Retry-After": "7200"]
        let limit = RateLimit(
            remaining: 2, resetAt: Date(timeIntervalSince1970: 1_800_000_000), retryAfter: .seconds(7200))
        let (error, event) = try await error(.init(status: 429, headers: headers))
        #expect(error == .rateLimited(limit))
        #expect(event == .rateLimitExceeded(limit))
        #expect(try await self.error(.init(status: 429)).0 == .rateLimited(RateLimit(retryAfter: .seconds(3600))))
    }

    @Test func retryAfterMayBeADateAndIsBounded() throws {
        func wait(_ text: String) throws -> Duration? {
            let url = try #require(URL(string: "https://example.com"))
            let response = try #require(
                HTTPURLResponse(url: url, statusCode: 429, httpVersion: nil, headerFields: ["Retry-After": text]))
            return RateLimit.wait(response, now: Date(timeIntervalSince1970: 784_111_770))
        }
        #expect(try wait("Sun, 06 Nov 1994 08:49:37 GMT") == .seconds(7))
        #expect(try wait("Sun, 06 Nov 1994 08:49:00 GMT") == .zero)
        #expect(try wait("-5") == nil)
        #expect(try wait("99999999999999") == .seconds(31 * 86_400))
        #expect(try wait("soon") == nil)
    }

    @Test func eachStatusHasItsError() async throws {
        #expect(try await error(.init(status: 500)).0 == .serverError(statusCode: 500))
        #expect(try await error(.init(status: 403)).0 == .serverError(statusCode: 403))
        #expect(try await error(.init(status: 200, body: "")).0 == .noData)
        let client = try world.client(await world.signedIn(), LoopbackServer { _ in .init() })
        let mail = URLRequest(url: try #require(URL(string: "mailto:ann@example.com")))
        await #expect(throws: APIError.invalidURL) { try await client.data(for: mail) }
    }

    @Test(
        "The messages for the user",
        arguments: [
            (APIError.authenticationRequired, "Please sign in to continue"),
            (.unauthorized, "Your session has expired. Please sign in again."),
            (.rateLimited(RateLimit()), "You've reached your daily limit. Try again tomorrow."),
            (.missingDeviceID, "Device identification required"), (.badRequest, "Invalid request"),
            (.serverError(statusCode: 502), "Server error (502)"), (.noData, "No data received"),
            (.invalidURL, "Invalid URL"), (.unknown, "An unknown error occurred"),
        ])
    func theMessagesForTheUser(_ error: APIError, _ message: String) {
        #expect(error.localizedDescription == message)
        #expect((error as any Error).localizedDescription == message)
    }

    @Test("retry 401 once (never infinitely); refresh only when needed")
    func tenRequestsWithAGoodTokenRefreshNothing() async throws {
        let server = try LoopbackServer { _ in .init() }
        let client = try world.client(await world.signedIn(), server)
        for _ in 0..<10 { _ = try await client.data(for: server.request("/")) }
        #expect(await world.authority.refreshed.isEmpty)
        #expect(server.requests.count == 10)
    }
}
