import Glibc
import TokenKeepCore

/// Reads settings from git's configuration files, by running git.
enum GitConfiguration {
    /// The maximum time to wait for git, in milliseconds.
    private static let limit: UInt32 = 2_000
    private static let longest = 1 << 16

    /// The last value of a setting; "true" for a key without a value; nil if the setting is absent, or git does not
    /// answer in time.
    ///
    /// - Parameter pattern: a regular expression for the setting's key in lower case.
    static func value(_ pattern: String) -> String? {
        guard let output = output(["git", "config", "--null", "--get-regexp", pattern]) else { return nil }
        guard let last = output.split(separator: 0 as UInt8).last else { return nil }
        guard let newline = last.firstIndex(of: UInt8(ascii: "\n")) else { return "true" }
        return String(decoding: last[last.index(after: newline)...], as: UTF8.self)
    }

    /// Runs a program on the PATH, and returns its standard output; nil if the program cannot be started, or does not
    /// end in time.
    private static func output(_ words: [String]) -> [UInt8]? {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(ends[0]) }
        let process = start(words, output: ends[1])
        close(ends[1])
        guard let process else { return nil }
        defer {
            kill(process, SIGKILL)
            waitpid(process, nil, 0)
        }
        return read(ends[0], until: Deadline(milliseconds: limit))
    }

    private static func start(_ words: [String], output: Int32) -> pid_t? {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        let copies = words.map { strdup($0) } + [nil]
        defer { for copy in copies { free(copy) } }
        var process: pid_t = 0
        return posix_spawnp(&process, words[0], &actions, nil, copies, environ) == 0 ? process : nil
    }

    private static func read(_ descriptor: Int32, until deadline: Deadline) -> [UInt8]? {
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 4096)
        while bytes.count < longest {
            var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&ready, 1, Int32(clamping: deadline.remainingMilliseconds)) == 1 else { return nil }
            let count = Glibc.read(descriptor, &part, part.count)
            guard count > 0 else { return count == 0 ? bytes : nil }
            bytes += part[..<count]
        }
        return nil
    }
}
