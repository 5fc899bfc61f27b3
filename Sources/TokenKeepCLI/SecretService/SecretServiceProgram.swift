import CSystemShims
import Glibc
import TokenKeepCore

/// The installed program `tokenkeep-secret-service`.
enum SecretServiceProgram {
    /// The program's path; nil if it is not installed beside this program.
    private static var path: String? {
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        guard tokenkeep_secret_service_program(&path) != 0 else { return nil }
        return String(decoding: path.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Replaces this process by the program. Returns only if this fails, with the error.
    static func become(_ arguments: [String]) -> TokenKeepError {
        guard let program = path else {
            return TokenKeepError(
                .unsupported, "tokenkeep-secret-service is not installed beside this program",
                hint: "install the package tokenkeep-secret-service, or build with libsystemd and libgcrypt")
        }
        let error = ProgramExecution.replaceProcess(program, [program] + arguments)
        return TokenKeepError(.unavailable, "\(program) cannot be run: \(Terminal.describe(errno: error))")
    }

    /// Requests that the running provider unlock the vault in its own memory. Returns false if no provider runs, or if
    /// it refuses.
    static func unlock(_ password: SecretBytes) -> Bool { tell("unlock-running", password) }

    /// Requests that the running provider lock the vault in its own memory.
    static func lock() { _ = tell("lock-running", nil) }

    private static func tell(_ command: String, _ input: SecretBytes?) -> Bool {
        guard hasBus, let program = path, let ends = pipe() else { return false }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends.reading, STDIN_FILENO)
        for descriptor in [STDOUT_FILENO, STDERR_FILENO] {
            posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_WRONLY, 0)
        }
        let words = [strdup(program), strdup(command), nil]
        defer { for word in words { free(word) } }
        var process: pid_t = 0
        let error = posix_spawn(&process, program, &actions, nil, words, environ)
        close(ends.reading)
        if error == 0 { input?.withUnsafeBytes { _ = write(ends.writing, $0.baseAddress, $0.count) } }
        close(ends.writing)
        guard error == 0 else { return false }
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        return status == 0
    }

    /// Whether this user has a message bus, on which a provider may run.
    private static var hasBus: Bool {
        if getenv("DBUS_SESSION_BUS_ADDRESS") != nil { return true }
        guard let folder = getenv("XDG_RUNTIME_DIR") else { return false }
        return access(String(cString: folder) + "/bus", F_OK) == 0
    }

    private static func pipe() -> (reading: Int32, writing: Int32)? {
        var ends: [Int32] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else { return nil }
        for descriptor in ends { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }
}
