import CSystemdBus
import Glibc

/// The standard output of a program.
enum ProgramOutput {
    private static let length = 4096

    /// Runs a program and returns the start of its output; nil if there is none within `limit` milliseconds.
    static func read(_ words: [String], limit: UInt32) -> String? {
        var ends: [Int32] = [-1, -1]
        guard let program = words.first, pipe(&ends) == 0 else { return nil }
        tokenkeep_inherit(ends[0], 0)
        tokenkeep_inherit(ends[1], 0)
        defer { close(ends[0]) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
        let copies = words.map { strdup($0) } + [nil]
        defer { for copy in copies { free(copy) } }
        var process: pid_t = 0
        let error = posix_spawn(&process, program, &actions, nil, copies, environ)
        close(ends[1])
        guard error == 0 else { return nil }
        defer {
            kill(process, SIGKILL)
            var status: Int32 = 0
            waitpid(process, &status, 0)
        }
        var ready = pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)
        guard poll(&ready, 1, Int32(clamping: limit)) == 1 else { return nil }
        var bytes = [UInt8](repeating: 0, count: length)
        let count = Glibc.read(ends[0], &bytes, length)
        return count > 0 ? String(decoding: bytes[..<count], as: UTF8.self) : nil
    }
}
