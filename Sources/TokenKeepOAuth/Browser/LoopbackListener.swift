import CSystemShims
import Glibc
import TokenKeepCore

/// A request for one of the listener's three pages.
struct LoopbackVisit {
    /// The page of a request.
    enum Place {
        /// The page that begins.
        case start
        /// The redirect address, with its query or its form, valid during the judgement.
        case answer(UnsafeRawBufferPointer)
        /// The page that ends.
        case end
    }

    let place: Place
    /// Whether a process of this user or of root certainly sent the request.
    let isTrusted: Bool
}

/// The reply to a visit.
struct LoopbackReply {
    let page: LoopbackPage
    /// Called if the page could be sent; nil if nothing follows.
    var whenSent: (() -> Void)?
}

/// Listens on 127.0.0.1 and [::1] for the browser: for the page that begins, and for the browser that comes back from the
/// server.
///
/// Anybody on this machine can connect. Requests with another Host, path or method get a refusal page, and waiting goes on.
final class LoopbackListener {
    private let sockets: [Int32]
    private var connections: [LoopbackConnection] = []
    private let authority: String
    private let path: String
    /// The path of the page that begins.
    private let startPath: String
    /// The path of the page that ends.
    let endPath: String
    /// Whether answers come as forms, too.
    private let takesForms: Bool
    /// The address for the authorization request, with the port.
    let address: String
    /// The address of the page that begins, for the browser's command: other users may read the arguments of a command, and
    /// this address tells them nothing.
    let startAddress: String

    private static let mostConnections = 32
    private static let mostAttempts = 8

    /// Listens at a redirect address.
    ///
    /// - Parameters:
    ///   - port: takes the place of the address's port; nil for that one.
    ///   - takesForms: whether answers come as forms, too.
    /// - Throws: ``Status/io`` if the port is taken or there is no descriptor.
    init(_ redirect: RedirectAddress, port: UInt16?, takesForms: Bool = false) throws(TokenKeepError) {
        let wanted = port ?? redirect.port ?? 0
        var sockets: [Int32] = []
        var attempt = 0
        // Any port that is free for IPv4 may be taken for IPv6.
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

    /// Waits for requests, and replies to visits as `judge` says.
    func serve(milliseconds: Int32, _ judge: (LoopbackVisit) -> LoopbackReply) {
        var polled = sockets.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        polled += connections.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
        guard OutsideCall.run({ poll(&polled, nfds_t(polled.count), milliseconds) }) > 0 else { return }
        let ready = Set(polled.lazy.filter { $0.revents != 0 }.map(\.fd))
        connections.removeAll { ready.contains($0.descriptor) && isOver($0, judge) }
        for socket in sockets where ready.contains(socket) { accept(from: socket) }
    }

    /// Reads from a connection. Returns whether it is to be closed.
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

    /// Accepts the waiting connections, and closes the oldest if there are too many. So neither an incomplete request nor a
    /// client of the other address keeps an answer out.
    private func accept(from socket: Int32) {
        for _ in 0..<(LoopbackListener.mostConnections / sockets.count) {
            let descriptor = tokenkeep_accept(socket)
            guard descriptor >= 0 else {
                // No descriptor is free, and the socket stays ready: the pause prevents a busy loop.
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

    /// Sockets that listen at one port, IPv4 first. Empty if the port is taken. A machine without IPv6 has one socket.
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
