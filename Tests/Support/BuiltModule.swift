import Foundation

/// A shared object that a test compiled, in a directory of its own.
public final class BuiltModule: Sendable {
    /// Its path.
    public let path: String
    private let directory = TemporaryDirectory()

    /// Where the sources are.
    public static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().path

    /// Compiles a source with the system's C compiler.
    ///
    /// - Parameters:
    ///   - source: below the package's folder.
    ///   - name: what the module is to be called.
    ///   - definitions: names to define: `REFUSES`, `INIT_NAME=other`.
    public init(_ source: String, name: String, defining definitions: [String] = []) throws {
        path = "\(directory.path)/\(name).so"
        let arguments =
            [
                "-shared", "-fPIC", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function",
                "-I\(BuiltModule.root)/include",
            ]
            + definitions.map { "-D\($0)" } + ["\(BuiltModule.root)/\(source)", "-o", path]
        let (output, status) = try ChildProcess.run("/usr/bin/cc", arguments, environment: [:])
        guard status == 0 else { throw CompilerFailed(words: "cc \(source): \(output)") }
    }

    private struct CompilerFailed: Error, CustomStringConvertible {
        let words: String
        var description: String { words }
    }

    /// The module of the example `keyctl`.
    public static func keyctl() throws -> BuiltModule { try BuiltModule("examples/plugin/keyctl.c", name: "keyctl") }
}
