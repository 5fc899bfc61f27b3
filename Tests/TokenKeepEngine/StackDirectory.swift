import Glibc
import TestSupport
import TokenKeepCore

@testable import TokenKeepEngine

/// A temporary directory with the user's and the system's stack files.
final class StackDirectory {
    private let directory = TemporaryDirectory()

    init(_ users: [String: String] = [:], system: [String: String] = [:]) {
        for (name, text) in users { write(text, to: "user/\(name).conf") }
        for (name, text) in system { write(text, to: "system/\(name).conf") }
    }

    var path: String { directory.path }

    /// Reads the stack of this name.
    func stack(named name: String) throws(TokenKeepError) -> Stack {
        defer { withExtendedLifetime(self) {} }
        return try Stack(name: name, directories: directories)
    }

    /// Reads a stack's text, which may include the stacks of this directory.
    func stack(_ text: String) throws(TokenKeepError) -> Stack {
        defer { withExtendedLifetime(self) {} }
        return try Stack(text: text, source: "test", directories: directories)
    }

    func write(_ text: String, to name: String, mode: mode_t = 0o600) {
        write(Array(text.utf8), to: name, mode: mode)
    }

    func write(_ bytes: [UInt8], to name: String, mode: mode_t = 0o600) {
        directory.write(bytes, to: name)
        chmod("\(path)/\(name)", mode)
    }

    private var directories: StackDirectories { .fixed(user: path + "/user", system: path + "/system") }
}
