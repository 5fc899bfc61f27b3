import CSystemShims
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

    /// Runs a command in a new session (setsid), and waits until it exits. A browser that runs in the foreground may
    /// exit much later.
    ///
    /// - Parameter patience: the time in milliseconds after which the command counts as successful; replaced in tests.
    /// - Returns: whether the command has opened the address.
    static func run(_ words: [String], patience: UInt32 = patience) -> Bool {
        var options = tokenkeep_start_options()
        options.searches_path = 1
        (options.input, options.output, options.errors) = (TOKENKEEP_NOTHING, TOKENKEEP_NOTHING, TOKENKEEP_NOTHING)
        // The new session receives no signal from the terminal.
        options.has_own_session = 1
        guard let program = try? RunningProgram(words, options) else { return false }
        let started = Deadline(milliseconds: patience)
        program.waitForEnd()
        // A browser in the foreground exits when the user closes it, so its exit status does not matter after the
        // limit. If the application has reaped the child process itself, the status is unknown and counts as success.
        return program.status ?? 0 == 0 || started.hasPassed
    }
}
