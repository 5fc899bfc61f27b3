import Foundation
import TestSupport

/// The service io.systemd.Credentials of a machine of a test: Tests/Support/credentials.py.
final class FakeCredentials: @unchecked Sendable {
    private let directory = TemporaryDirectory()
    private let process: ChildProcess

    /// - Parameter user: the user as whom the service runs; nil for this process's user.
    init(user: UInt32? = nil) throws {
        let path = directory.path
        if user != nil { chmod(path, 0o777) }
        directory.write(Array("right".utf8), to: "mode", mode: 0o644)
        // As an argument: another user cannot read this repository.
        let file = URL(fileURLWithPath: "\(BuiltModule.root)/Tests/Support/credentials.py")
        let script = try String(contentsOf: file, encoding: .utf8)
        process = try ChildProcess(
            "/usr/bin/python3", ["-c", script, path + "/socket", path + "/keys", path + "/mode"], environment: [:],
            user: user)
        guard try process.firstLine() == "ready" else { throw HarnessFailure(message: "no service for credentials") }
    }

    /// The path of its socket.
    var path: String { directory.path + "/socket" }

    /// Replies to each call as a word of credentials.py says; `right` for the reply of systemd.
    func reply(_ word: String) { directory.write(Array(word.utf8), to: "mode", mode: 0o644) }

    /// The calls that have arrived, one word for the method and one for the user.
    var calls: [String] {
        String(decoding: directory.read("keys/calls") ?? [], as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// The bytes of a reply that is too long which a client took.
    var taken: Int? {
        Int(String(decoding: directory.read("keys/taken") ?? [], as: UTF8.self).trimmingCharacters(in: .newlines))
    }

    /// A secret that a credential of a vector has.
    func put(secret: [UInt8], as credential: [UInt8]) {
        let name = credential.suffix(16).map { String(format: "%02x", $0) }.joined()
        let data = Data(secret).base64EncodedString()
        let entry = #"{"uid":\#(geteuid()),"name":"tokenkeep","data":"\#(data)"}"#
        directory.write(Array(entry.utf8), to: "keys/\(name)")
    }
}
