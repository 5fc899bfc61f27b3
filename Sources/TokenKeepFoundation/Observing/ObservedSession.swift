import Foundation
public import TokenKeep

/// A session with the application's objects beside its tokens, and streams of their changes.
///
/// ```swift
/// let observed = ObservedSession(session)
/// for try await user in observed.changes(of: .user, as: User.self) {
///     switch user {
///     case .available(let user, let validatedAt): …
///     case .unavailable(let reason): …
///     }
/// }
/// ```
///
/// The objects are JSON in the profile of the session, at most 64 KiB in all, and end with the session.
public final class ObservedSession: Sendable {
    /// An object of the application.
    public enum Object: String, Sendable, CaseIterable {
        /// The server's session.
        case session
        /// The user.
        case user
        /// The session of a member of an organization.
        case memberSession = "member_session"
        /// The member of an organization.
        case member
        /// The organization.
        case organization
    }

    /// The session that has the tokens.
    public let tokens: TokenSession
    let profile: SessionProfile
    private let ownChanges = Broadcast<Void>()

    /// Observes a session.
    public init(_ session: TokenSession) {
        tokens = session
        profile = SessionProfile(session)
    }

    /// The present value of an object. Asks no server.
    ///
    /// - Throws: `TokenKeepError` with `corrupt` if the object is no JSON of its type, or another failure of the vault. A
    ///   locked or unavailable place and an ended session are values of ``Observed``.
    public func value<Value: Codable & Sendable>(
        of object: Object, as type: Value.Type = Value.self
    ) async throws -> Observed<Value> {
        try await observed { try await self.profile.object(object.rawValue, as: type) }
    }

    /// Replaces an object by the server's value; nil removes the object.
    ///
    /// - Throws: `TokenKeepError` with `notFound` if nobody is signed in, `needsLogin` or `expired` if the session is over,
    ///   `invalid` for more than 64 KiB in all, `locked`, `busy` and others.
    public func update<Value: Codable & Sendable>(_ value: Value?, of object: Object) async throws {
        try await profile.set([object.rawValue: value.map { try JSONEncoder().encode($0) }])
        ownChanges.send(())
    }

    /// The values of an object: first the present value, then the value after each change. Several changes may make one
    /// element.
    ///
    /// A change of the session's state by any process makes an element. An object that another process sets is read at the
    /// next change of the state, for example at the next renewal.
    public func changes<Value: Codable & Sendable & Equatable>(
        of object: Object, as type: Value.Type = Value.self
    ) -> AsyncThrowingStream<Observed<Value>, any Error> {
        changes { try await $0.value(of: object, as: type) }
    }

    /// The states of the session: first the present state, then the state after each change by any process.
    public var states: TokenSession.States { tokens.states }

    /// Asks the server whether it still accepts the token. Does not extend the session.
    ///
    /// - Throws: the errors of `TokenSession.validate()`.
    public func validate() async throws {
        try await tokens.validate()
        ownChanges.send(())
    }

    /// Validates every 3 minutes and renews the token ahead of time, until the session ends or the task is cancelled.
    ///
    /// The session's options need a transport. If the server has no endpoint that validates, the token is only renewed.
    ///
    /// - Returns: the reason why the session ended.
    /// - Throws: as `TokenSession.run()`: `CancellationError` if the task is cancelled, `TokenKeepError` if the vault
    ///   cannot be used.
    @discardableResult public func heartbeat() async throws -> TokenSession.Reason {
        try await heartbeat(lookingEvery: .seconds(180))
    }

    /// See ``heartbeat()``. A validation is no change of the state, so the date of the last validation is read at each
    /// interval.
    func heartbeat(lookingEvery interval: Duration) async throws -> TokenSession.Reason {
        let looking = Task { [ownChanges] in
            while true {
                try await Task.sleep(for: interval, clock: .continuous)
                ownChanges.send(())
            }
        }
        defer { looking.cancel() }
        return try await tokens.run(isValidating: true)
    }

    /// Asks the server to let the session last longer.
    ///
    /// - Parameter time: five minutes to a year, in whole seconds.
    /// - Throws: `TokenKeepError` with `invalid` for another time; otherwise as `TokenSession.extend(by:)`.
    public func extend(by time: Duration) async throws { try await tokens.extend(by: time) }

    /// Begins the session with tokens from elsewhere, for example from the application's own server.
    ///
    /// - Throws: `TokenKeepError` with `invalid` if a token is nil or empty; nothing has changed then. Otherwise as
    ///   `TokenSession.begin(_:response:)`.
    public func hydrate(accessToken: String?, refreshToken: String?, expiresIn: Duration? = nil) async throws {
        guard let accessToken, let refreshToken, !accessToken.isEmpty, !refreshToken.isEmpty else {
            throw TokenKeepError(.invalid, "both tokens must be given")
        }
        try await tokens.hydrate(
            accessToken: .init(accessToken), refreshToken: .init(refreshToken), expiresIn: expiresIn)
    }

    /// Signs out: clears both tokens and the five objects, and revokes the token at the server, or queues the token.
    ///
    /// - Throws: the errors of `TokenSession.end()`.
    @discardableResult public func revoke() async throws -> TokenSession.Report { try await tokens.end() }
}

extension ObservedSession {
    private func observed<Value: Sendable>(
        _ read: () async throws -> Value?
    ) async throws -> Observed<Value> {
        let info = try await tokens.info
        switch info.state {
        case .unknown: return .unavailable(.unknown)
        case .locked: return .unavailable(.locked)
        case .signedOut, .needsLogin: return .unavailable(.ended(info.reason))
        case .user, .guest: break
        }
        do {
            guard let value = try await read() else { return .unavailable(.missing) }
            return .available(value, info.validatedAt)
        } catch let error as TokenKeepError {
            switch error.status {
            case .locked: return .unavailable(.locked)
            case .unavailable, .timedOut: return .unavailable(.unknown)
            // The session has ended since its state was read.
            case .notFound, .needsLogin, .expired: return .unavailable(.ended(try await tokens.info.reason))
            default: throw error
            }
        }
    }

    private func changes<Value: Sendable & Equatable>(
        _ read: @escaping @Sendable (ObservedSession) async throws -> Observed<Value>
    ) -> AsyncThrowingStream<Observed<Value>, any Error> {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: Observed<Value>.self, bufferingPolicy: .bufferingNewest(1))
        let own = ownChanges.stream()
        let task = Task {
            do {
                var last: Observed<Value>?
                for try await _ in Self.merged(tokens.states, own) {
                    let value = try await read(self)
                    guard value != last else { continue }
                    last = value
                    continuation.yield(value)
                }
                continuation.finish()
            } catch {
                continuation.finish(throwing: error)
            }
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    /// A sequence with an element after each element of two sequences. Elements that arrive while the reader is busy are
    /// merged into one.
    private static func merged(
        _ states: TokenSession.States, _ own: AsyncStream<Void>
    ) -> AsyncThrowingStream<Void, any Error> {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let task = Task {
            do {
                for try await _ in states { continuation.yield() }
                continuation.finish()
            } catch {
                continuation.finish(throwing: error)
            }
        }
        let ownTask = Task { for await _ in own { continuation.yield() } }
        continuation.onTermination = { _ in
            task.cancel()
            ownTask.cancel()
        }
        return stream
    }
}
