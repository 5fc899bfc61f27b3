public import TokenKeep

/// Keeps up a connection that a session's token opens, as a WebSocket's. It knows no transport: a closure connects.
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
/// The closure gets a token, connects, and returns or throws when the connection has ended. It must end when its task is
/// cancelled. Then the stream connects again:
///
/// - with a newer token at once, when ``ReconnectionOptions/renewal`` says so: the closure's task is cancelled;
/// - after ``ConnectionEnd/refused`` with another token: at once, and after a pause if that one is refused, too;
/// - after any other end, and if no token can be had for now (`unavailable`, `timedOut`, `busy`, `locked`), after a pause.
///
/// The end of the session, by any process, ends the connection and the stream with the session's error: `notFound`,
/// `needsLogin` or `expired`. Any other error of a request for a token ends the stream too, for example `denied`, if the
/// server refuses the client, and `corrupt`. A stream ends at once when its task is cancelled. Each iterator has a
/// connection of its own.
public struct ReconnectingStream<Message: Sendable>: AsyncSequence, Sendable {
    /// A message.
    public typealias Element = Message
    /// The error of ``ConnectionEnd/failed(_:)``, or the `TokenKeepError` of a request for a token that ended the stream.
    public typealias Failure = any Error

    let connections: Connections
    let connect: @Sendable (TokenSession.Token, Messages) async throws -> Void

    /// Makes a stream. Nothing is connected before its first message is asked for.
    ///
    /// - Parameters:
    ///   - session: the session whose tokens are used.
    ///   - options: when a connection makes way, and the pauses.
    ///   - connect: runs one connection to its end, and sends its messages to the stream's reader.
    public init(
        _ session: TokenSession, options: ReconnectionOptions = ReconnectionOptions(),
        _ connect: @escaping @Sendable (_ token: TokenSession.Token, _ messages: Messages) async throws -> Void
    ) {
        connections = Connections(session: session, options: options)
        self.connect = connect
    }
}

extension ReconnectingStream where Message == Never {
    /// Makes a stream without messages: the closure does with the connection what is to be done. ``run()`` connects.
    public init(
        _ session: TokenSession, options: ReconnectionOptions = ReconnectionOptions(),
        _ connect: @escaping @Sendable (_ token: TokenSession.Token) async throws -> Void
    ) {
        self.init(session, options: options) { token, _ in try await connect(token) }
    }

    /// Keeps the connection up until the closure throws ``ConnectionEnd/finished``.
    ///
    /// - Throws: the error of ``ConnectionEnd/failed(_:)``; the `TokenKeepError` of a request for a token, except
    ///   `unavailable`, `timedOut`, `busy` and `locked`, after which the stream connects again; `CancellationError` if the
    ///   task is cancelled.
    public func run() async throws {
        let (_, continuation) = AsyncThrowingStream.makeStream(of: Delivery<Never>.self)
        try await connections.run { [connect] in try await connect($0, Messages(stream: continuation)) }
    }
}
