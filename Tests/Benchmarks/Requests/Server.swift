import Foundation
import Glibc

/// An HTTP server on 127.0.0.1 with a thread for each connection, which it keeps.
///
/// `/` is answered at once, `/hold` after `/release`, `/held/N` when N requests for `/hold` have come.
final class Server: @unchecked Sendable {
    private let condition = NSCondition()
    private var held = 0
    private var isReleased = false

    /// Prints the port, and serves until the process ends.
    func run() {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 2048) == 0
                    && getsockname(listener, $0, &length) == 0
            }
        }
        guard isListening else { exit(1) }
        FileHandle.standardOutput.write(Data("\(UInt16(bigEndian: address.sin_port))\n".utf8))
        while true {
            let connection = accept(listener, nil, nil)
            guard connection >= 0 else { exit(1) }
            let thread = Thread { self.serve(connection) }
            thread.stackSize = 1 << 18
            thread.start()
        }
    }

    private func serve(_ connection: Int32) {
        defer { close(connection) }
        var one: Int32 = 1
        setsockopt(connection, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
        var bytes = [UInt8](repeating: 0, count: 8192)
        while true {
            let count = recv(connection, &bytes, bytes.count, 0)
            guard count > 0 else { return }
            // Each request of the benchmarks comes in one piece.
            answer(String(decoding: bytes[..<count], as: UTF8.self).split(separator: " ").dropFirst().first ?? "/")
            let reply = Array("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}".utf8)
            guard send(connection, reply, reply.count, Int32(MSG_NOSIGNAL)) == reply.count else { return }
        }
    }

    /// Waits until the path is to be answered.
    private func answer(_ path: Substring) {
        condition.lock()
        defer { condition.unlock() }
        switch path {
        case "/hold":
            held += 1
            condition.broadcast()
            while !isReleased { condition.wait() }
        case "/release":
            isReleased = true
            condition.broadcast()
        case let path where path.hasPrefix("/held/"):
            guard let count = Int(path.dropFirst(6)) else { return }
            while held < count { condition.wait() }
        default: return
        }
    }
}
