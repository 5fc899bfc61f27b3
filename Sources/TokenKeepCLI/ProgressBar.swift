import Glibc

/// A progress bar on standard error, shown only on a terminal.
final class ProgressBar {
    private static let width = 30
    private let isShown = Terminal.showsErrors
    private var shown = ""

    /// Draws the bar for `done` of `total` steps.
    func show(done: Int, of total: Int) {
        guard isShown, total > 0 else { return }
        let filled = ProgressBar.width * done / total
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: ProgressBar.width - filled)
        let line = "[\(bar)] \(done)/\(total)"
        guard line != shown else { return }
        Terminal.writeError("\r" + line)
        shown = line
    }

    /// Removes the bar from the terminal.
    func end() {
        guard !shown.isEmpty else { return }
        Terminal.writeError("\r" + String(repeating: " ", count: shown.count) + "\r")
        shown = ""
    }
}
