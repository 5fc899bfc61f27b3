import Foundation
public import TokenKeep

/// A session that also stores objects of the application, and streams that report changes of these objects.
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
/// The objects are stored as JSON in the session's profile, together at most 64 KiB. They are removed when the session
/// ends.
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

    /// The session that owns the tokens.
    public let tokens: TokenSession
    let profile: SessionProfile
    private let ownChanges = Broadcast<Void>()

    /// Observes a session.
    public init(_ session: TokenSession) {
        tokens = session
        profile = SessionProfile(session)
    }

    /// The present value of an object. Sends no request.
    ///
    /// - Throws: `TokenKeepError` with `corrupt` if the object is not JSON of its type, or with another status if the
    ///   vault fails. If a module is locked or unavailable, or the session has ended, returns a value of ``Observed``
    ///   instead of throwing.
    public func value<Value: Codable & Sendable>(
        of object: Object, as type: Value.Type = Value.self
    ) async throws -> Observed<Value> {
        try await observed { try await self.profile.object(object.rawValue, as: type) }
    }

    /// Replaces an object by the server's value; nil removes the object.
    ///
    /// - Throws: `TokenKeepError` with `notFound` if nobody is signed in, `needsLogin` or `expired` if the session has
    ///   ended, `invalid` if the objects exceed 64 KiB in all, `locked`, `busy` or another status.
    public func update<Value: Codable & Sendable>(_ value: Value?, of object: Object) async throws {
        try await profile.set([object.rawValue: value.map { try JSONEncoder().encode($0) }])
        ownChanges.send(())
    }

    /// A stream of an object's values: first the present value, then the value after each change.
    ///
    /// Several changes in quick succession may produce only one element. The object is read after each change by this
    /// object and after each change of the session's state by any process. If another process sets the object, the new
    /// value is therefore read only at the next change of the state, for example at the next renewal.
    public func changes<Value: Codable & Sendable & Equatable>(
        of object: Object, as type: Value.Type = Value.self
    ) -> AsyncThrowingStream<Observed<Value>, any Error> {
        changes { try await $0.value(of: object, as: type) }
    }

    /// A sequence of the session's states: first the present state, then the state after each change by any process.
    public var states: TokenSession.States { tokens.states }

    /// Validates the access token at the server. Does not extend the session.
    ///
    /// - Throws: the errors of `TokenSession.validate()`.
    public func validate() async throws {
        try await tokens.validate()
        ownChanges.send(())
    }

    /// Validates and renews the token regularly, until the session ends or the task is cancelled.
    ///
    /// The token is validated every 3 minutes, and renewed before it expires.
    ///
    /// The session's options need a transport. If the server has no endpoint for validation, the token is only renewed.
    ///
    /// - Returns: the reason why the session ended.
    /// - Throws: the errors of `TokenSession.run()`: `CancellationError` if the task is cancelled, `TokenKeepError` if
    ///   the vault cannot be used.
    @discardableResult public func heartbeat() async throws -> TokenSession.Reason {
        try await heartbeat(lookingEvery: .seconds(180))
    }

    /// Does a ``heartbeat()``. A validation is not reported as a change of state, so the streams of changes also read
    /// the date of the last validation once in each interval.
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

    /// Extends the session at the server.
    ///
    /// - Parameter time: the time by which the session is extended: five minutes to a year, in whole seconds.
    /// - Throws: `TokenKeepError` with `invalid` if the time is out of this range; otherwise the errors of
    ///   `TokenSession.extend(by:)`.
    public func extend(by time: Duration) async throws { try await tokens.extend(by: time) }

    /// Begins the session with tokens from another source, for example the application's own server.
    ///
    /// - Throws: `TokenKeepError` with `invalid`, with nothing changed, if a token is nil or empty; otherwise the
    ///   errors of `TokenSession.begin(_:response:)`.
    public func hydrate(accessToken: String?, refreshToken: String?, expiresIn: Duration? = nil) async throws {
        guard let accessToken, let refreshToken, !accessToken.isEmpty, !refreshToken.isEmpty else {
            throw TokenKeepError(.invalid, "both tokens must be given")
        }
        try await tokens.hydrate(
            accessToken: .init(accessToken), refreshToken: .init(refreshToken), expiresIn: expiresIn)
    }

    /// Signs out: clears both tokens and the five objects, and revokes the token at the server or queues it for
    /// revocation.
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
            // These errors mean that the session ended after its state was read.
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

    /// Merges two sequences into a stream that has an element for each of their elements. Elements that arrive while
    /// the reader is busy are merged into one.
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
