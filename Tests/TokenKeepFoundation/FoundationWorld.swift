import Foundation
import FoundationNetworking
import TestSupport
import TokenKeep

@testable import TokenKeepFoundation

/// A vault of its own, and an authorization server that rotates refresh tokens.
struct FoundationWorld {
    let directory = TemporaryDirectory(inMemory: true)
    let authority = Authority()
    let service = "api.example.com"

    func store() throws -> TokenStore {
        try TokenStore(.init(stackText: "any required vault"), vaultPath: directory.path + "/vault")
    }

    func sessionOptions() -> TokenSession.Options {
        var options = TokenSession.Options()
        options.transport = { [authority] in try await authority.answer($0) }
        return options
    }

    func managerOptions(_ server: LoopbackServer? = nil) throws -> SessionManagerOptions {
        var options = SessionManagerOptions()
        options.session = sessionOptions()
        options.urlSession = URLSession(configuration: .ephemeral)
        options.cleanup = .nothing
        options.origins = server.flatMap { URL(string: $0.origin) }.map { [$0] } ?? []
        options.renewsAhead = false
        return options
    }

    func session(_ account: String = "ann") async throws -> TokenSession {
        try await TokenSession(store: store(), service: service, account: account, options: sessionOptions())
    }

    /// Another program signs out and in.
    func changeSessions() async throws {
        let other = try await session()
        try await other.end()
        try await other.begin(.user, response: .init(Authority.tokens(7, 3600)))
    }

    func signedIn(_ account: String = "ann", lifetime: Int = 3600) async throws -> TokenSession {
        let session = try await session(account)
        try await session.begin(.user, response: .init(Authority.tokens(1, lifetime)))
        return session
    }

    /// A client that may send the token to a server, and that notes its pauses.
    func client(
        _ session: TokenSession, _ server: LoopbackServer, connections: Int = 6, pauses: Pauses = Pauses(),
        whilePausing body: @escaping @Sendable () async throws -> Void = {}
    ) throws -> SessionClient {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = connections
        var repeats = RepeatPolicy()
        repeats.pause = {
            await pauses.add($0)
            try await body()
        }
        let client = SessionClient(session: session, configuration, Broadcast(), repeats: repeats)
        try client.allow(origin: server.origin)
        return client
    }
}

actor Pauses {
    private(set) var all: [Duration] = []
    func add(_ pause: Duration) { all.append(pause) }
}

actor Authority {
    enum Mood { case answers, refuses, isAway }

    var mood = Mood.answers
    private var number = 1
    private(set) var refreshed: [String] = []
    private(set) var revoked: [String] = []
    private(set) var validated: [String] = []

    func become(_ mood: Mood) { self.mood = mood }

    func answer(_ request: TokenSession.Request) throws -> TokenSession.Response {
        let token = request.token.utf8String ?? ""
        if mood == .isAway { throw TokenKeepError(.unavailable, "no route to the server") }
        switch request.purpose {
        case .refresh:
            refreshed.append(token)
            guard mood == .answers, token == "refresh-\(number)" else {
                return TokenSession.Response(status: 400, body: try .init(#"{"error":"invalid_grant"}"#))
            }
            number += 1
            return TokenSession.Response(status: 200, body: try .init(Authority.tokens(number, 3600)))
        case .revoke: revoked.append(token)
        case .validate: validated.append(token)
        case .extend: return TokenSession.Response(status: 200, body: try .init(#"{"expires_in":7200}"#))
        }
        return TokenSession.Response(status: 200, body: try .init(""))
    }

    static func tokens(_ number: Int, _ lifetime: Int) -> String {
        #"{"access_token":"access-\#(number)","expires_in":\#(lifetime),"refresh_token":"refresh-\#(number)"}"#
    }
}

extension AsyncSequence {
    /// The first element that meets a condition. The iterator's other elements are dropped.
    func awaited(_ isMeant: (Element) -> Bool) async throws -> Element? {
        for try await element in self where isMeant(element) { return element }
        return nil
    }
}
