import Glibc
import TokenKeepCore

/// A progress bar on standard error, shown only on a terminal.
///
/// The bar is drawn at most ten times a second, because a slow terminal would otherwise delay the work.
final class ProgressBar {
    private static let width = 30
    private static let pauseMilliseconds: UInt32 = 100
    private let isShown = Terminal.showsErrors
    private var shown = ""
    private var nextDrawing = Deadline(milliseconds: 0)

    /// Draws the bar for `done` of `total` steps, unless it was drawn less than 100 milliseconds ago.
    func show(done: Int, of total: Int) {
        guard isShown, total > 0, nextDrawing.hasPassed else { return }
        let filled = ProgressBar.width * done / total
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: ProgressBar.width - filled)
        let line = "[\(bar)] \(done)/\(total)"
        guard line != shown else { return }
        Terminal.writeError("\r" + line)
        shown = line
        nextDrawing = Deadline(milliseconds: ProgressBar.pauseMilliseconds)
    }

    /// Removes the bar from the terminal.
    func end() {
        guard !shown.isEmpty else { return }
        Terminal.writeError("\r" + String(repeating: " ", count: shown.count) + "\r")
        shown = ""
    }
}
