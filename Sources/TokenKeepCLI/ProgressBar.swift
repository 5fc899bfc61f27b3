import Glibc

/// How far a command is, on a terminal alone.
final class ProgressBar {
    private static let width = 30
    private let isShown = isatty(STDERR_FILENO) == 1
    private var shown = ""

    /// Shows that so many of all are done.
    func show(done: Int, of total: Int) {
        guard isShown, total > 0 else { return }
        let filled = ProgressBar.width * done / total
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: ProgressBar.width - filled)
        let line = "[\(bar)] \(done)/\(total)"
        guard line != shown else { return }
        Terminal.writeError("\r" + line)
        shown = line
    }

    /// Takes the bar off the terminal.
    func end() {
        guard !shown.isEmpty else { return }
        Terminal.writeError("\r" + String(repeating: " ", count: shown.count) + "\r")
        shown = ""
    }
}
