import TestSupport
import Testing

/// A C program of `Fixtures` that derives keys without anything of Swift.
struct DerivationProgram {
    private let directory = TemporaryDirectory()
    var path: String { "\(directory.path)/program" }

    /// Compiles the program with the shims that it calls.
    init(_ name: String) throws {
        let shims = "\(BuiltModule.root)/Sources/CSystemShims"
        let sources = [
            "derivation", "derivation_job", "derivation_memory", "clock", "fork_gate", "lock_descriptors",
            "system_calls",
        ].map { "\(shims)/\($0).c" }
        let (output, status) = try ChildProcess.run(
            "/usr/bin/cc",
            ["-O2", "-Wall", "-Wextra", "-Werror", "-I\(shims)/include"] + sources
                + ["\(BuiltModule.root)/Tests/TokenKeepKeys/Fixtures/\(name).c", "-o", path]
                + ["-largon2", "-lsodium", "-ldl", "-pthread"], environment: [:])
        try #require(status == 0, "\(output)")
    }
}
