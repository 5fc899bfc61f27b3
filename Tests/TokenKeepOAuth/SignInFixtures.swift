import Glibc
import Synchronization
import TestSupport
import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys
import TokenKeepOAuth

/// A browser, or anybody else who calls the listener: one request on a connection of its own.
enum LoopbackCaller {
    /// Sends text to the port of an address `http://127.0.0.1:PORT/…` and returns all that comes back.
    static func call(_ port: UInt16, _ request: String) -> String {
        let descriptor = connected(port)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var bytes = Array(request.utf8)
        _ = send(descriptor, &bytes, bytes.count, Int32(MSG_NOSIGNAL))
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { return String(decoding: answer, as: UTF8.self) }
            answer += buffer[..<count]
        }
    }

    static func connected(_ port: UInt16) -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(INADDR_LOOPBACK).bigEndian
        address.sin_port = port.bigEndian
        let isConnected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else {
            close(descriptor)
            return -1
        }
        return descriptor
    }

    /// Sends text and resets the connection at once.
    static func reset(_ port: UInt16, _ request: String) {
        let descriptor = connected(port)
        var bytes = Array(request.utf8)
        _ = send(descriptor, &bytes, bytes.count, Int32(MSG_NOSIGNAL))
        var atOnce = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &atOnce, socklen_t(MemoryLayout<linger>.size))
        close(descriptor)
    }

    /// Asks for a page, and as a browser does for the one to which it leads on the same port.
    static func get(_ port: UInt16, _ target: String, host: String? = nil, method: String = "GET") -> String {
        followed(port, call(port, "\(method) \(target) HTTP/1.1\r\nHost: \(host ?? "127.0.0.1:\(port)")\r\n\r\n"))
    }

    /// Posts a form, and follows as `get(_:_:host:method:)` does.
    static func post(_ port: UInt16, _ target: String, _ form: String, lengths: [String]? = nil) -> String {
        let lengths = lengths ?? ["\(form.utf8.count)"]
        let head = lengths.map { "content-length: \($0)\r\n" }.joined()
        return followed(
            port, call(port, "POST \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\(head)\r\n\(form)"))
    }

    private static func followed(_ port: UInt16, _ answer: String) -> String {
        guard answer.hasPrefix("HTTP/1.1 303 See Other\r\n"), !answer.contains("code="),
            let path = answer.split(separator: "\r\nLocation: ").last?.split(separator: "\r\n").first
        else { return answer }
        return call(port, "GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n")
    }
}

/// The parameters of an authorization request, as the browser gets it.
struct OpenedAddress {
    let parameters: [String: String]

    init(_ address: String) {
        var parameters: [String: String] = [:]
        for field in address.split(separator: "?", maxSplits: 1).last?.split(separator: "&") ?? [] {
            let parts = field.split(separator: "=", maxSplits: 1).map(String.init)
            parameters[parts[0]] = OpenedAddress.decoded(parts.count == 2 ? parts[1] : "")
        }
        self.parameters = parameters
    }

    var redirect: String { parameters["redirect_uri"] ?? "" }
    var state: String { parameters["state"] ?? "" }
    var port: UInt16 { redirect.split(separator: ":").last.flatMap { UInt16($0.prefix { $0 != "/" }) } ?? 0 }

    private static func decoded(_ text: String) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            bytes.append(UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) ?? 0)
            rest = rest.dropFirst(2)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// A server of which the test plays the answers, and the forms that reached it.
final class PlayedServer: Sendable {
    private let forms = Mutex<[[String: String]]>([])
    private let answers: Mutex<[HTTPResponse]>

    init(_ answers: HTTPResponse...) { self.answers = Mutex(answers) }

    var posted: [[String: String]] { forms.withLock { $0 } }

    var server: SignInServer {
        var server = SignInServer(name: "test", clientID: "client") {
            [self] _, fields, _ throws(TokenKeepError) in
            forms.withLock { forms in
                forms.append(Dictionary(uniqueKeysWithValues: fields.map { ($0.0, $0.1.utf8String ?? "") }))
            }
            guard let answer = answers.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else {
                throw TokenKeepError(.unavailable, "the server has no more answers")
            }
            return answer
        }
        server.issuer = "https://login.example.com"
        server.authorizationEndpoint = try? WebAddress("https://login.example.com/authorize")
        server.hasDeviceFlow = true
        return server
    }

    static func json(_ text: String, status: Int = 200) throws -> HTTPResponse {
        HTTPResponse(status: status, body: try SecretBytes(text))
    }

    static func tokens(_ more: String = "") throws -> HTTPResponse {
        try json(#"{"access_token":"at-1","refresh_token":"rt-1","token_type":"Bearer","expires_in":60\#(more)}"#)
    }
}

extension SignInOptions {
    /// A flow that opens no browser and waits for nobody.
    static func test(_ flow: SignInFlow, scope: String? = nil) -> SignInOptions {
        var options = SignInOptions()
        options.flow = flow
        options.scope.scope = scope
        options.opensBrowser = false
        options.pause = { _, _ in }
        return options
    }
}

extension Store {
    /// A store of a vault in a directory. Its keys stay in this process.
    convenience init(inVaultOf directory: TemporaryDirectory) throws {
        var configuration = StoreConfiguration(
            stackText: "any required vault", timeoutMilliseconds: Patience.milliseconds)
        configuration.vaultPath = directory.path + "/vault"
        configuration.residentKeys = ClassKeyStore(simulatingKernelAt: { 0 })
        try self.init(configuration)
    }
}
