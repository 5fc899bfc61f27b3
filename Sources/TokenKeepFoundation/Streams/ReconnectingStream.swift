public import TokenKeep

/// Maintains a connection, such as a WebSocket, that is opened with a session's token. A closure makes the connection.
///
/// ```swift
/// let news = ReconnectingStream<String>(session) { token, messages in
///     try await withSocket(to: url, token: token) { socket in     // throws ConnectionEnd.refused after a 401
///         for try await text in socket { try await messages.send(text) }
///     }
/// }
/// for try await text in news { … }
/// ```
///
/// The closure receives a token, connects, and returns or throws when the connection has ended. It must end when its
/// task is cancelled. After its end, the stream connects again:
///
/// - at once with a newer token, if ``ReconnectionOptions/renewal`` requires it; the stream then cancels the closure's
///   task;
/// - after ``ConnectionEnd/refused`` with another token: at once, but after a pause if the server refuses that token,
///   too;
/// - after a pause in all other cases, also if no token is available for now (`unavailable`, `timedOut`, `busy`,
///   `locked`).
///
/// The end of the session, by any process, ends the connection and the stream with the session's error: `notFound`,
/// `needsLogin` or `expired`. Any other error of a request for a token ends the stream, too, for example `denied` if
/// the server refuses the client, or `corrupt`. A stream ends at once when its task is cancelled. Each iterator has its
/// own connection.
public struct ReconnectingStream<Message: Sendable>: AsyncSequence, Sendable {
    /// A message.
    public typealias Element = Message
    /// The error of ``ConnectionEnd/failed(_:)``, or the `TokenKeepError` of a request for a token that ended the stream.
    public typealias Failure = any Error

    let connections: Connections
    let connect: @Sendable (TokenSession.Token, Messages) async throws -> Void

    /// Makes a stream. It connects when its first message is requested.
    ///
    /// - Parameters:
    ///   - session: the session whose tokens are used.
    ///   - options: the rules for renewing connections, and the pauses.
    ///   - connect: runs one connection until it ends, and sends its messages to the stream's reader.
    public init(
        _ session: TokenSession, options: ReconnectionOptions = ReconnectionOptions(),
        _ connect: @escaping @Sendable (_ token: TokenSession.Token, _ messages: Messages) async throws -> Void
    ) {
        connections = Connections(session: session, options: options)
        self.connect = connect
    }
}

extension ReconnectingStream where Message == Never {
    /// Makes a stream without messages: the closure itself handles the connection. ``run()`` connects.
    public init(
        _ session: TokenSession, options: ReconnectionOptions = ReconnectionOptions(),
        _ connect: @escaping @Sendable (_ token: TokenSession.Token) async throws -> Void
    ) {
        self.init(session, options: options) { token, _ in try await connect(token) }
    }

    /// Maintains the connection until the closure throws ``ConnectionEnd/finished``.
    ///
    /// - Throws: the error of ``ConnectionEnd/failed(_:)``; the `TokenKeepError` of a request for a token, except
    ///   `unavailable`, `timedOut`, `busy` and `locked`, after which the stream connects again; `CancellationError` if the
    ///   task is cancelled.
    public func run() async throws {
        let (_, continuation) = AsyncThrowingStream.makeStream(of: Delivery<Never>.self)
        try await connections.run { [connect] in try await connect($0, Messages(stream: continuation)) }
    }
}
