extension ReconnectingStream {
    /// Passes the messages of a connection to the stream's reader.
    public struct Messages: Sendable {
        let stream: AsyncThrowingStream<Delivery<Message>, any Error>.Continuation

        /// Sends a message, and waits until the reader has received it. A slow reader therefore slows the connection
        /// down.
        ///
        /// - Throws: `CancellationError` if the stream was released or the connection must end.
        public func send(_ message: Message) async throws {
            let delivery = Delivery(message)
            guard case .enqueued = stream.yield(delivery) else { throw CancellationError() }
            await delivery.wait()
            try Task.checkCancellation()
        }
    }

    /// The iterator of a ``ReconnectingStream``. It opens its own connection when its first element is requested.
    public struct Iterator: AsyncIteratorProtocol {
        /// See ``ReconnectingStream/Failure``.
        public typealias Failure = any Error

        private let stream: ReconnectingStream
        private var deliveries: AsyncThrowingStream<Delivery<Message>, any Error>.AsyncIterator?

        init(_ stream: ReconnectingStream) { self.stream = stream }

        /// The next message; nil when the stream has ended, or the task is cancelled.
        ///
        /// - Throws: the error of ``ConnectionEnd/failed(_:)``, or the `TokenKeepError` of a request for a token, except
        ///   `unavailable`, `timedOut`, `busy` and `locked`, after which the stream connects again.
        public mutating func next() async throws -> Message? { try await next(isolation: nil) }

        /// The next message; nil when the stream has ended, or the task is cancelled.
        ///
        /// - Throws: the error of ``ConnectionEnd/failed(_:)``, or the `TokenKeepError` of a request for a token, except
        ///   `unavailable`, `timedOut`, `busy` and `locked`, after which the stream connects again.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Message? {
            var iterator = deliveries ?? stream.deliveries().makeAsyncIterator()
            defer { deliveries = iterator }
            return try await iterator.next(isolation: actor)?.take()
        }
    }

    /// Makes an iterator, which connects when its first element is requested.
    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// Starts a task that runs connections until the returned stream is released.
    private func deliveries() -> AsyncThrowingStream<Delivery<Message>, any Error> {
        let (deliveries, continuation) = AsyncThrowingStream.makeStream(of: Delivery<Message>.self)
        let task = Task { [connections, connect] in
            do {
                try await connections.run { try await connect($0, Messages(stream: continuation)) }
                continuation.finish()
            } catch {
                continuation.finish(throwing: error)
            }
        }
        continuation.onTermination = { _ in task.cancel() }
        return deliveries
    }
}

/// A message whose sender waits until the reader has received the message.
final class Delivery<Message: Sendable>: Sendable {
    private struct State {
        var isOver = false
        var sender: CheckedContinuation<Void, Never>?
    }

    private let message: Message
    private let state = Guarded(State())

    init(_ message: Message) { self.message = message }

    /// Returns the message, and resumes the sender.
    func take() -> Message {
        letSenderGo()
        return message
    }

    /// Waits until the reader has received the message, or until the sender's task is cancelled.
    func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { sender in
                let isOver = state.withLock { state in
                    if !state.isOver { state.sender = sender }
                    return state.isOver
                }
                if isOver { sender.resume() }
            }
        } onCancel: {
            letSenderGo()
        }
    }

    private func letSenderGo() {
        let sender = state.withLock { state in
            defer { state = State(isOver: true) }
            return state.sender
        }
        sender?.resume()
    }
}
