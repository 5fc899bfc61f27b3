public import Foundation
public import FoundationNetworking

extension SessionClient {
    /// Sends a request and returns the body and the response, whatever its status.
    ///
    /// - Throws: ``APIError/authenticationRequired`` if nobody is signed in or the session ends during the call,
    ///   ``APIError/unauthorized`` if the session had ended before the call, ``APIError/invalidURL`` if the address is
    ///   not http or https; the `TokenKeepError` of `TokenSession.token(minTTL:)`, such as `locked` or `unavailable`;
    ///   `URLError` after a network failure; `CancellationError` if the task is cancelled.
    public func data(for request: URLRequest) async throws -> (Data, HTTPURLResponse) {
        try await send(request, isWhole: true) { (try await $0.body(), $0.response) }
    }

    /// Sends a request and decodes the body of a success as JSON.
    ///
    /// - Throws: the errors of ``data(for:)``; ``APIError`` if the status is not from 200 to 299 or the body is empty;
    ///   `DecodingError` if the body is not JSON of the type.
    public func request<Value: Decodable & Sendable>(
        _ request: URLRequest, as type: Value.Type = Value.self, decoder: JSONDecoder = JSONDecoder()
    ) async throws -> Value {
        let (data, error) = try await send(request, isWhole: true) { exchange in
            let body = try await exchange.body()
            return (body, APIError(exchange.response, body, hadToken: exchange.hadToken))
        }
        if let error { throw error }
        return try decoder.decode(type, from: data)
    }

    /// Sends a request and returns its response as soon as the header fields have arrived. Bytes that have arrived and
    /// are not read stay in memory.
    ///
    /// If the session ends, the body is cancelled: reading it throws `URLError` with the code `cancelled`. Releasing
    /// the bytes also cancels the body.
    ///
    /// - Throws: the errors of ``data(for:)``.
    public func bytes(for request: URLRequest) async throws -> (Bytes, HTTPURLResponse) {
        try await send(request) { [requests] exchange in
            let following = requests.follow { exchange.task.cancel() }
            return (Bytes(chunks: exchange.chunks, following: following), exchange.response)
        }
    }

    /// Sends a request with a body.
    ///
    /// - Throws: the errors of ``data(for:)``.
    public func upload(for request: URLRequest, from body: Data) async throws -> (Data, HTTPURLResponse) {
        var request = request
        request.httpBody = body
        return try await data(for: request)
    }

    /// Sends a request with the content of a file as body.
    ///
    /// - Throws: the errors of ``data(for:)``.
    public func upload(for request: URLRequest, fromFile file: URL) async throws -> (Data, HTTPURLResponse) {
        try await send(request, file: file, isWhole: true) { (try await $0.body(), $0.response) }
    }

    /// Sends a request and writes the body to a new temporary file, which only this user can read. The caller removes
    /// the file.
    ///
    /// - Throws: the errors of ``data(for:)``; the error of creating or writing the file.
    public func download(for request: URLRequest) async throws -> (URL, HTTPURLResponse) {
        try await send(request) { exchange in
            let file = FileManager.default.temporaryDirectory.appending(path: "tokenkeep-\(UUID().uuidString)")
            guard
                FileManager.default.createFile(
                    atPath: file.path, contents: nil, attributes: [.posixPermissions: 0o600])
            else { throw CocoaError(.fileWriteUnknown) }
            do {
                let handle = try FileHandle(forWritingTo: file)
                defer { try? handle.close() }
                for try await chunk in exchange.chunks { try handle.write(contentsOf: chunk) }
                try Task.checkCancellation()
                return (file, exchange.response)
            } catch {
                try? FileManager.default.removeItem(at: file)
                throw error
            }
        }
    }

    /// The bytes of a body, in the order of their arrival.
    public struct Bytes: AsyncSequence, Sendable {
        /// The type of the elements, a byte.
        public typealias Element = UInt8

        let chunks: AsyncThrowingStream<Data, any Error>
        let following: RunningRequests.Following

        /// Makes the iterator. Only one iterator can read a body.
        public func makeAsyncIterator() -> Iterator {
            Iterator(chunks: chunks.makeAsyncIterator(), following: following)
        }

        /// The iterator of ``Bytes``.
        public struct Iterator: AsyncIteratorProtocol {
            private var chunks: AsyncThrowingStream<Data, any Error>.Iterator
            private let following: RunningRequests.Following
            private var rest = Data()
            private var position = 0

            init(chunks: AsyncThrowingStream<Data, any Error>.Iterator, following: RunningRequests.Following) {
                self.chunks = chunks
                self.following = following
            }

            /// The next byte; nil at the end of the body.
            ///
            /// - Throws: `URLError` after a network failure; `CancellationError` if the task is cancelled.
            public mutating func next() async throws -> UInt8? {
                while position == rest.endIndex {
                    guard let chunk = try await chunks.next() else {
                        // A cancelled task's stream ends without an error, so the cancellation is checked here.
                        try Task.checkCancellation()
                        return nil
                    }
                    (rest, position) = (chunk, chunk.startIndex)
                }
                defer { position += 1 }
                return rest[position]
            }
        }
    }
}
