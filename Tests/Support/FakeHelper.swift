import Glibc

/// A listener in the place of root's helper for the TPM.
public final class FakeHelper: @unchecked Sendable {
    /// What a client gets for a request.
    public enum Reply: Sendable {
        /// These bytes as one message.
        case bytes([UInt8])
        /// The end of the connection.
        case end
        /// Nothing, until the helper ends.
        case silence
    }

    /// The path of its socket.
    public let path: String
    private let directory = TemporaryDirectory()
    private let listener: Int32
    private var thread: TestThread?

    /// Listens, and replies to each request as `reply` says.
    public init(reply: @escaping @Sendable ([UInt8]) -> Reply) throws {
        path = directory.path + "/tpm2"
        guard let listener = UnixSocket.listen(at: path) else { throw HarnessFailure(message: "no socket") }
        self.listener = listener
        thread = TestThread { FakeHelper.serve(listener, reply) }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        thread?.join()
        close(listener)
    }

    private static func serve(_ listener: Int32, _ reply: ([UInt8]) -> Reply) {
        var silent: [Int32] = []
        defer { for connection in silent { close(connection) } }
        var request = [UInt8](repeating: 0, count: 4096)
        while case let connection = accept(listener, nil, nil), connection >= 0 {
            let count = recv(connection, &request, request.count, 0)
            switch count > 0 ? reply(Array(request[..<count])) : .end {
            case .bytes(let bytes): send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
            case .end: break
            case .silence:
                silent.append(connection)
                continue
            }
            close(connection)
        }
    }
}
