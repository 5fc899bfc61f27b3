import CSodium
import Glibc
import TokenKeepCore

/// A connection from the browser, or from another program on this machine. Its buffer may contain an authorization
/// code, so it is wiped at the end.
final class LoopbackConnection {
    let descriptor: Int32
    let peer: LoopbackPeer
    private let buffer: UnsafeMutableRawBufferPointer
    private var length = 0
    /// The length of the request's head in bytes, without the empty line after it; nil until the whole head has
    /// arrived.
    private var headLength: Int?
    /// The maximum length of head and body together, in bytes. It is large, because the browser also sends the cookies
    /// of other servers on this machine.
    private static let longestHead = 65_536

    init(_ descriptor: Int32, _ peer: LoopbackPeer) {
        self.descriptor = descriptor
        self.peer = peer
        buffer = .allocate(byteCount: LoopbackConnection.longestHead, alignment: 1)
    }

    deinit {
        close(descriptor)
        if let start = buffer.baseAddress { sodium_memzero(start, length) }
        buffer.deallocate()
    }

    /// The state of a request after reading.
    enum Progress {
        case incomplete
        /// The connection was closed, or its request is malformed or too long.
        case unusable
        /// The head and the body of the complete request. Both point into the connection's buffer.
        case request(UnsafeRawBufferPointer, UnsafeRawBufferPointer)
    }

    /// Reads the bytes that have arrived, without waiting.
    func read() -> Progress {
        guard let start = buffer.baseAddress, length < buffer.count else { return .unusable }
        let count = recv(descriptor, start + length, buffer.count - length, Int32(MSG_DONTWAIT))
        guard count > 0 else { return count < 0 && [EAGAIN, EINTR].contains(errno) ? .incomplete : .unusable }
        let seen = max(0, length - 3)
        length += count
        let read = UnsafeRawBufferPointer(rebasing: buffer[..<length])
        if headLength == nil, length >= 4 {
            headLength = (seen...(length - 4)).first { read[$0..<($0 + 4)].elementsEqual(end) }
        }
        guard let headLength else { return .incomplete }
        let head = UnsafeRawBufferPointer(rebasing: read[..<headLength])
        let bodyStart = headLength + end.count
        guard let bodyLength = LoopbackRequest.bodyLength(head), (0...(buffer.count - bodyStart)).contains(bodyLength)
        else { return .unusable }
        guard length >= bodyStart + bodyLength else { return .incomplete }
        return .request(head, UnsafeRawBufferPointer(rebasing: read[bodyStart..<(bodyStart + bodyLength)]))
    }

    private let end = Array("\r\n\r\n".utf8)

    /// Sends a page and closes the connection for writing.
    ///
    /// - Returns: whether the system accepted the whole page. False if the connection was reset.
    func answer(_ page: LoopbackPage) -> Bool {
        guard let response = try? page.response() else { return false }
        let sent = send(
            descriptor, response.unsafeAddress, response.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
        shutdown(descriptor, Int32(SHUT_WR))
        return withExtendedLifetime(response) { sent == response.count }
    }
}
