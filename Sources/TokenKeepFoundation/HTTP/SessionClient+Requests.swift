public import Foundation
public import FoundationNetworking

extension SessionClient {
    /// Sends a request and returns the body and the response, whatever its status.
    ///
    /// - Throws: ``APIError/authenticationRequired`` if nobody is signed in or the session ends meanwhile,
    ///   ``APIError/unauthorized`` if the session is over, ``APIError/invalidURL``; `TokenKeepError` with the status of
    ///   `TokenSession.token(minTTL:)`, such as `locked` or `unavailable`; `URLError` of the network; `CancellationError`
    ///   if the task is cancelled.
    public func data(for request: URLRequest) async throws -> (Data, HTTPURLResponse) {
        try await send(request, isWhole: true) { (try await $0.body(), $0.response) }
    }

    /// Sends a request and decodes the body of a success as JSON.
    ///
    /// - Throws: the errors of ``data(for:)``, ``APIError`` for a status that is no success, `DecodingError`.
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

    /// Sends a request and returns the body while it arrives. Unread ``Bytes`` wait in memory.
    ///
    /// The end of the session cancels the body: its reader gets `URLError`, `cancelled`. The release of the bytes cancels
    /// the body, too.
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

    /// Sends a request and writes the body to a new file in the temporary directory, which the caller removes. Only this
    /// user can read the file.
    ///
    /// - Throws: the errors of ``data(for:)``, or the error of the file.
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

    /// The bytes of a body, as they arrive.
    public struct Bytes: AsyncSequence, Sendable {
        /// A byte.
        public typealias Element = UInt8

        let chunks: AsyncThrowingStream<Data, any Error>
        let following: RunningRequests.Following

        /// Makes the iterator. A body can be read by one iterator.
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

            /// The next byte; nil at the end.
            ///
            /// - Throws: `URLError`; `CancellationError` if the task is cancelled.
            public mutating func next() async throws -> UInt8? {
                while position == rest.endIndex {
                    guard let chunk = try await chunks.next() else {
                        // If the reading task is cancelled, the stream ends without an error.
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
