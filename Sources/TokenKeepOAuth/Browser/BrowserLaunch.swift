import Glibc
import Synchronization
import TokenKeepCore

/// Opens an address in the user's browser. The browser's output is discarded.
package final class BrowserLaunch: Sendable {
    private let failed = Atomic(false)

    /// Whether every command to open the address has failed.
    package var hasFailed: Bool { failed.load(ordering: .relaxed) }

    /// Starts a thread that tries `$BROWSER`, then the desktop portal, then xdg-open, until one exits with 0. Opens
    /// nothing in a process that has more rights than its caller.
    ///
    /// - Parameter address: the address. It must not be secret, because other users can read the arguments of a
    ///   command.
    package convenience init(_ address: String) {
        self.init(Privileges.areRaised ? [] : BrowserLaunch.commands(for: address))
    }

    /// - Parameter commands: the commands, each as a list of words. They are tried in this order until one succeeds.
    package init(_ commands: [[String]]) {
        let isStarted = DetachedThread.start {
            for command in commands where BrowserLaunch.run(command) { return }
            self.failed.store(true, ordering: .relaxed)
        }
        if isStarted != 0 { failed.store(true, ordering: .relaxed) }
    }

    private static func commands(for address: String) -> [[String]] {
        var commands: [[String]] = []
        for line in (getenv("BROWSER").map { String(cString: $0) } ?? "").split(separator: ":") {
            var words = line.split(separator: " ").map(String.init)
            guard !words.isEmpty else { continue }
            if let place = words.firstIndex(of: "%s") { words[place] = address } else { words.append(address) }
            commands.append(words)
        }
        commands.append([
            "gdbus", "call", "--session", "--timeout", "5", "--dest", "org.freedesktop.portal.Desktop",
            "--object-path", "/org/freedesktop/portal/desktop",
            "--method", "org.freedesktop.portal.OpenURI.OpenURI", "", address, "{}",
        ])
        commands.append(["xdg-open", address])
        return commands
    }

    /// The time, in milliseconds, after which a command that is still running counts as successful.
    private static let patience: UInt32 = 10_000

    /// The flag POSIX_SPAWN_SETSID, which glibc declares only with _GNU_SOURCE.
    private static let setsid: Int32 = 0x80

    /// Runs a command in a new session (setsid), and waits until it exits. A browser that runs in the foreground may
    /// exit much later.
    ///
    /// - Parameter patience: the time in milliseconds after which the command counts as successful; replaced in tests.
    /// - Returns: whether the command has opened the address.
    static func run(_ words: [String], patience: UInt32 = patience) -> Bool {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // In a new session, the command receives no signals from the terminal. The empty mask unblocks all signals for
        // the browser.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(setsid | POSIX_SPAWN_SETSIGMASK))
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { arguments.forEach { free($0) } }
        var process: pid_t = 0
        guard posix_spawnp(&process, words[0], &actions, &attributes, &arguments, environ) == 0 else { return false }
        var status: Int32 = 0
        let started = Deadline(milliseconds: patience)
        while waitpid(process, &status, 0) == -1 {
            // If the application itself has already waited for the child process, its exit status is unknown and counts
            // as success.
            guard errno == EINTR else { return true }
        }
        // A browser that ran longer than the limit has opened the address, so its exit status does not matter.
        return status == 0 || started.hasPassed
    }
}
