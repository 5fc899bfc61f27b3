import Foundation
import FoundationNetworking
import Glibc
import Testing

/// An HTTP server on 127.0.0.1 with a thread for each connection, which takes one request.
final class LoopbackServer: Sendable {
    struct Request: Sendable {
        var method = ""
        var path = ""
        /// By lower-case names.
        var headers: [String: String] = [:]
        var body = ""
    }

    struct Reply: Sendable {
        var status = 200
        var headers: [String: String] = [:]
        var body = "{}"
        /// The connection is closed without an answer.
        var isLost = false
        /// The connection stays open until the client closes it.
        var stays = false

        static let lost = Reply(isLost: true)
        static func redirect(_ status: Int, to location: String) -> Reply {
            Reply(status: status, headers: ["Location": location], body: "")
        }
    }

    private final class Log: @unchecked Sendable {
        private let lock = NSLock()
        private var requests: [Request] = []
        func add(_ request: Request) { lock.withLock { requests.append(request) } }
        var all: [Request] { lock.withLock { requests } }
    }

    private let listener: Int32
    private let log = Log()
    let port: UInt16

    var origin: String { "http://127.0.0.1:\(port)" }
    var requests: [Request] { log.all }
    var tokens: [String?] { requests.map { $0.headers["authorization"] } }

    func request(_ path: String, method: String = "GET") throws -> URLRequest {
        var request = URLRequest(url: try #require(URL(string: origin + path)))
        request.httpMethod = method
        return request
    }

    init(_ answer: @escaping @Sendable (Request) -> Reply) throws {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = listener
        let isListening = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 256) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        try #require(isListening)
        port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread { [log] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { break }
                Thread.detachNewThread { LoopbackServer.serve(connection, log, answer) }
            }
            close(listener)
        }
    }

    /// A server that answers when the gate is open.
    static func behind(_ gate: Gate) throws -> LoopbackServer {
        try LoopbackServer { _ in
            gate.pass()
            return Reply()
        }
    }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    private static func serve(_ connection: Int32, _ log: Log, _ answer: (Request) -> Reply) {
        defer { close(connection) }
        guard let request = read(connection) else { return }
        log.add(request)
        let reply = answer(request)
        guard !reply.isLost else { return }
        var headers = reply.headers
        headers["Content-Length"] = headers["Content-Length"] ?? "\(reply.body.utf8.count)"
        headers["Connection"] = "close"
        if reply.status == 401, headers["WWW-Authenticate"] == nil {
            headers["WWW-Authenticate"] = #"Bearer realm="api", error="invalid_token""#
        }
        var text = "HTTP/1.1 \(reply.status) Said\r\n"
        for (name, value) in headers { text += "\(name): \(value)\r\n" }
        text += "\r\n" + reply.body
        let bytes = Array(text.utf8)
        // A client that is cancelled has closed the connection.
        _ = send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        if reply.stays {
            var byte: UInt8 = 0
            _ = recv(connection, &byte, 1, 0)
        }
    }

    private static func read(_ connection: Int32) -> Request? {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            if let request = parsed(String(decoding: bytes, as: UTF8.self)) { return request }
            let count = recv(connection, &chunk, chunk.count, 0)
            guard count > 0 else { return nil }
            bytes += chunk[..<count]
        }
    }

    /// The request; nil if a part of it is missing.
    private static func parsed(_ text: String) -> Request? {
        guard let end = text.range(of: "\r\n\r\n") else { return nil }
        let lines = text[..<end.lowerBound].components(separatedBy: "\r\n")
        let words = lines[0].split(separator: " ")
        guard words.count == 3 else { return nil }
        var request = Request(method: String(words[0]), path: String(words[1]))
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            request.headers[line[..<colon].lowercased()] =
                line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
        }
        request.body = String(text[end.upperBound...])
        if request.headers["transfer-encoding"] == "chunked" {
            guard let body = unchunked(request.body) else { return nil }
            request.body = body
            return request
        }
        let length = request.headers["content-length"].flatMap(Int.init) ?? 0
        return request.body.utf8.count >= length ? request : nil
    }

    /// The content of chunks; nil if the last one is missing.
    private static func unchunked(_ text: String) -> String? {
        var (body, rest) = ("", text[...])
        while let end = rest.range(of: "\r\n"), let length = Int(rest[..<end.lowerBound], radix: 16) {
            guard length > 0 else { return body }
            // CR LF is one character.
            let chunk = rest[end.upperBound...].prefix(length)
            guard chunk.count == length else { return nil }
            body += chunk
            rest = rest[chunk.endIndex...].dropFirst()
        }
        return nil
    }
}

/// Lets threads wait until a number of them has come, or until it is opened.
final class Gate: @unchecked Sendable {
    private let condition = NSCondition()
    private var waiting = 0
    private var isOpen = false
    private let number: Int

    init(opensAt number: Int = .max) { self.number = number }

    func pass() {
        condition.lock()
        defer { condition.unlock() }
        waiting += 1
        if waiting >= number { isOpen = true }
        condition.broadcast()
        while !isOpen { condition.wait() }
    }

    func open() {
        condition.lock()
        defer { condition.unlock() }
        isOpen = true
        condition.broadcast()
    }

    /// Waits until so many threads have come.
    func wait(for count: Int) async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                self.condition.lock()
                while self.waiting < count { self.condition.wait() }
                self.condition.unlock()
                continuation.resume()
            }
        }
    }
}
