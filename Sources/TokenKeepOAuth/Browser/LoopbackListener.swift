import CSystemShims
import Glibc
import TokenKeepCore

/// A request for one of the listener's three pages.
struct LoopbackVisit {
    /// The page that was requested.
    enum Place {
        /// The start page, which redirects the browser to the server.
        case start
        /// The redirect address. The value is its query or form, which is valid only while `judge` runs.
        case answer(UnsafeRawBufferPointer)
        /// The last page, which shows the result.
        case end
    }

    let place: Place
    /// Whether the request was certainly sent by a process of this user or of root.
    let isTrusted: Bool
}

/// The reply to a visit.
struct LoopbackReply {
    let page: LoopbackPage
    /// Called after the page was sent; nil to do nothing.
    var whenSent: (() -> Void)?
}

/// Listens on 127.0.0.1 and [::1] for the browser, which requests the start page and later returns from the server.
///
/// Any program on this machine can connect. A request with an unexpected Host, path or method gets a refusal page, and
/// the listener continues.
final class LoopbackListener {
    private let sockets: [Int32]
    private var connections: [LoopbackConnection] = []
    private let authority: String
    private let path: String
    /// The path of the start page.
    private let startPath: String
    /// The path of the last page.
    let endPath: String
    /// Whether the listener also accepts answers as forms (POST).
    private let takesForms: Bool
    /// The redirect address for the authorization request, with the port.
    let address: String
    /// The address of the start page, which the command that opens the browser gets. Other users can read a command's
    /// arguments, so this address contains no secret.
    let startAddress: String

    private static let mostConnections = 32
    private static let mostAttempts = 8

    /// Listens at a redirect address.
    ///
    /// - Parameters:
    ///   - port: the port to listen at; nil for the port of `redirect`, or any free port if that has none.
    ///   - takesForms: whether the listener also accepts answers as forms (POST).
    /// - Throws: ``Status/unavailable`` if the port is in use or no socket can be opened.
    init(_ redirect: RedirectAddress, port: UInt16?, takesForms: Bool = false) throws(TokenKeepError) {
        let wanted = port ?? redirect.port ?? 0
        var sockets: [Int32] = []
        var attempt = 0
        // The system chooses a port that is free for IPv4. It may be in use for IPv6, so another port is then tried.
        repeat {
            sockets = LoopbackListener.bound(wanted)
            attempt += 1
        } while sockets.isEmpty && wanted == 0 && attempt < LoopbackListener.mostAttempts
        guard let first = sockets.first else {
            throw TokenKeepError(
                .unavailable, "port \(wanted) of 127.0.0.1 cannot be used: \(String(cString: strerror(errno)))",
                hint: "choose another one with --port, or use --flow paste")
        }
        self.sockets = sockets
        let bound = LoopbackListener.port(of: first)
        authority = redirect.authority(port: bound)
        path = redirect.path.isEmpty ? "/" : redirect.path
        startPath = path == "/start" ? "/begin" : "/start"
        endPath = path == "/done" ? "/end" : "/done"
        self.takesForms = takesForms
        address = redirect.text(port: bound)
        startAddress = "http://\(authority)\(startPath)"
    }

    deinit { sockets.forEach { close($0) } }

    /// Waits for requests for a number of milliseconds, and sends the replies that `judge` returns.
    func serve(milliseconds: Int32, _ judge: (LoopbackVisit) -> LoopbackReply) {
        var polled = sockets.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        polled += connections.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
        guard OutsideCall.run({ poll(&polled, nfds_t(polled.count), milliseconds) }) > 0 else { return }
        let ready = Set(polled.lazy.filter { $0.revents != 0 }.map(\.fd))
        connections.removeAll { ready.contains($0.descriptor) && isOver($0, judge) }
        for socket in sockets where ready.contains(socket) { accept(from: socket) }
    }

    /// Reads from a connection, and replies to a complete request. Returns whether to close the connection.
    private func isOver(_ connection: LoopbackConnection, _ judge: (LoopbackVisit) -> LoopbackReply) -> Bool {
        switch connection.read() {
        case .incomplete: return false
        case .unusable: return true
        case .request(let head, let body):
            let reply = reply(to: head, body, from: connection.peer, judge)
            if connection.answer(reply.page) { reply.whenSent?() }
            return true
        }
    }

    private func reply(
        to head: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer, from peer: LoopbackPeer,
        _ judge: (LoopbackVisit) -> LoopbackReply
    ) -> LoopbackReply {
        do throws(LoopbackRequest.Refusal) {
            let request = try LoopbackRequest(
                head, form: takesForms ? body : nil, authority: authority, paths: [path, startPath, endPath])
            let place: LoopbackVisit.Place =
                switch request.path {
                case path: .answer(request.query)
                case startPath: .start
                default: .end
                }
            return judge(LoopbackVisit(place: place, isTrusted: peer.isTrusted))
        } catch {
            switch error {
            case .malformed, .host: return LoopbackReply(page: .badRequest)
            case .method: return LoopbackReply(page: .methodNotAllowed)
            case .path: return LoopbackReply(page: .notFound)
            }
        }
    }

    /// Accepts the pending connections. If there are too many, closes the oldest, so that neither incomplete requests
    /// nor clients of the other socket can block the browser.
    private func accept(from socket: Int32) {
        for _ in 0..<(LoopbackListener.mostConnections / sockets.count) {
            let descriptor = tokenkeep_accept(socket)
            guard descriptor >= 0 else {
                // If no descriptor is free, the socket stays ready for poll(2), so without a pause this would be a busy
                // loop.
                if [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(errno) { ShortPause.wait(milliseconds: 250) }
                return
            }
            guard let peer = LoopbackPeer(descriptor) else {
                close(descriptor)
                continue
            }
            if connections.count == LoopbackListener.mostConnections { connections.removeFirst() }
            connections.append(LoopbackConnection(descriptor, peer))
        }
    }

    /// Opens an IPv4 and an IPv6 socket that listen at one port, in this order; empty if the port is in use. Returns
    /// only the IPv4 socket if the system has no IPv6.
    private static func bound(_ port: UInt16) -> [Int32] {
        var four = sockaddr_in()
        four.sin_family = sa_family_t(AF_INET)
        four.sin_addr.s_addr = in_addr_t(INADDR_LOOPBACK).bigEndian
        four.sin_port = port.bigEndian
        guard let first = listening(AF_INET, &four, socklen_t(MemoryLayout<sockaddr_in>.size)) else { return [] }
        var six = sockaddr_in6()
        six.sin6_family = sa_family_t(AF_INET6)
        six.sin6_addr = in6addr_loopback
        six.sin6_port = LoopbackListener.port(of: first).bigEndian
        if let second = listening(AF_INET6, &six, socklen_t(MemoryLayout<sockaddr_in6>.size)) {
            return [first, second]
        }
        guard errno == EADDRINUSE else { return [first] }
        close(first)
        return []
    }

    private static func listening<Address>(_ family: Int32, _ address: inout Address, _ size: socklen_t) -> Int32? {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(family, type, 0)
        guard descriptor >= 0 else { return nil }
        var one: Int32 = 1
        if family == AF_INET6 {
            setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &one, socklen_t(MemoryLayout<Int32>.size))
        }
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
        let isListening = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) == 0 }
                && listen(descriptor, SOMAXCONN) == 0
        }
        guard isListening else {
            let error = errno
            close(descriptor)
            errno = error
            return nil
        }
        return descriptor
    }

    private static func port(of socket: Int32) -> UInt16 {
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &size) }
        }
        return UInt16(bigEndian: address.sin_port)
    }
}
