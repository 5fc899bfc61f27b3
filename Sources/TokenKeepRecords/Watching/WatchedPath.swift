import CSystemShims
import Glibc
import SystemPackage

/// The watched path of one vault: its file `changes`, and every directory on the way to it.
///
/// The directories are watched so that making, moving or removing any of them is noticed.
struct WatchedPath {
    private let notifier: Int32
    /// The directories from the root to the vault, then the file.
    private let steps: [String]
    /// The watches of the existing steps.
    private(set) var watches: [Int32] = []
    /// The directories whose new entries are watched.
    ///
    /// The last one is the directory in which the next step is awaited. The others are its parents that were last
    /// before.
    private(set) var entries: [Entries] = []
    /// Whether a step is still missing.
    private var isWaiting = false

    /// A directory whose new entries are watched.
    struct Entries {
        fileprivate let step: Int
        let watch: Int32
    }

    init(vault path: String, notifier: Int32) {
        self.notifier = notifier
        var steps = ["/"]
        for component in path.split(separator: "/") {
            steps.append((steps.count == 1 ? "" : steps[steps.count - 1]) + "/" + component)
        }
        steps.append(path + "/" + ChangeLog.file)
        self.steps = steps
    }

    /// Watches the existing steps, and the new entries of the last existing directory.
    mutating func renew() throws(Errno) {
        // A step may be made after it was looked for and before its directory is watched: look again.
        var previous: Int?
        while true {
            let (found, next) = try watchSteps()
            watches = found.map(\.watch)
            guard next < steps.count, let last = found.last else {
                isWaiting = false
                return
            }
            isWaiting = true
            guard next != previous else { return }
            entries.append(Entries(step: last.step, watch: try add(last.step, TOKENKEEP_WATCH_ENTRIES)))
            previous = next
        }
    }

    /// Watches the steps down to the first missing step, whose index is `next`.
    private func watchSteps() throws(Errno) -> (found: [(step: Int, watch: Int32)], next: Int) {
        var found: [(step: Int, watch: Int32)] = []
        for step in steps.indices {
            let isFile = step == steps.count - 1
            do throws(Errno) {
                found.append((step, try add(step, isFile ? TOKENKEEP_WATCH_FILE : TOKENKEEP_WATCH_DIRECTORY)))
            } catch {
                switch error {
                case .noSuchFileOrDirectory, .notDirectory: return (found, step)
                case .permissionDenied: continue  // passing needs no read permission
                default: throw error
                }
            }
        }
        return (found, steps.count)
    }

    /// The watch of the directory in which the next step is awaited; nil if all steps exist.
    var awaited: Int32? { isWaiting ? entries.last?.watch : nil }

    /// Removes and returns the directories that no longer need to be watched.
    mutating func takePassed() -> [Entries] {
        let passed = entries.filter { $0.watch != awaited }
        entries = isWaiting ? entries.suffix(1) : []
        return passed
    }

    /// Stops watching the new entries of a directory.
    func narrow(_ entries: Entries) { _ = try? add(entries.step, TOKENKEEP_WATCH_NO_ENTRIES) }

    private func add(_ step: Int, _ what: Int32) throws(Errno) -> Int32 {
        let watch = tokenkeep_notifier_add(notifier, steps[step], what)
        guard watch >= 0 else { throw Errno(rawValue: errno) }
        return watch
    }
}
