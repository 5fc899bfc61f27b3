import Foundation
import TestSupport
import TokenKeepCore
import TokenKeepOAuth

/// The server Tests/Servers/lying_server.py, in a directory of its own.
final class LyingServer: Sendable {
    let directory = TemporaryDirectory(inMemory: true)
    private let process: ChildProcess
    private let ports: [String: String]

    init() throws {
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Servers/lying_server.py").path
        process = try ChildProcess("/usr/bin/python3", [script, directory.path], environment: [:])
        let words = try process.firstLine().split(separator: " ").map { $0.split(separator: "=").map(String.init) }
        ports = Dictionary(uniqueKeysWithValues: words.map { ($0[0], $0[1]) })
    }

    func stop() { process.stop() }

    var authority: String { directory.path + "/ca.pem" }

    /// The requests that arrived: `NAME METHOD PATH BODY AUTHORIZATION`.
    var requests: [String] {
        get throws {
            // Foundation's way to read a whole file loses memory if the file is empty.
            let data = try FileHandle(forReadingFrom: URL(fileURLWithPath: directory.path + "/requests")).readToEnd()
            return String(decoding: data ?? Data(), as: UTF8.self).split(separator: "\n").map(String.init)
        }
    }

    func origin(_ name: String = "http") -> String {
        "\(name == "http" ? "http" : "https")://127.0.0.1:\(ports[name] ?? "0")"
    }

    func request(
        _ path: String, on name: String = "http", body: String? = "a=1", milliseconds: UInt32 = Patience.milliseconds,
        cancellation: Cancellation? = nil
    ) throws -> HTTPRequest {
        var request = HTTPRequest(
            try WebAddress(origin(name) + path), body: try body.map { try SecretBytes($0) },
            deadline: Deadline(milliseconds: milliseconds, cancellation: cancellation))
        request.caFile = name == "http" ? nil : authority
        return request
    }
}
