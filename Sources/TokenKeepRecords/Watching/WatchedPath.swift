import CSystemShims
import Glibc
import SystemPackage

/// The path of one vault's file `changes`. The file and each directory of the path are watched.
///
/// The watch notices if the file or one of the directories is made, moved or removed.
struct WatchedPath {
    private let notifier: Int32
    /// The paths to watch: each directory from `/` to the vault, and finally the file `changes`.
    private let steps: [String]
    /// The kernel's watches of the paths that exist.
    private(set) var watches: [Int32] = []
    /// The directories that are watched for new entries.
    ///
    /// If a component of the path is missing, the component will appear in the last directory of this list. In each
    /// earlier directory of this list, a component was missing before and exists now.
    private(set) var entries: [Entries] = []
    /// Whether a component of the watched path is missing.
    private var isWaiting = false

    /// A directory that is watched for new entries.
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

    /// Watches the paths that exist, and watches for new entries in the last directory that exists.
    mutating func renew() throws(Errno) {
        // A component may appear between the search for it and the watch of its directory, so search again.
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

    /// Watches each path up to the first missing path, whose index is `next`.
    private func watchSteps() throws(Errno) -> (found: [(step: Int, watch: Int32)], next: Int) {
        var found: [(step: Int, watch: Int32)] = []
        for step in steps.indices {
            let isFile = step == steps.count - 1
            do throws(Errno) {
                found.append((step, try add(step, isFile ? TOKENKEEP_WATCH_FILE : TOKENKEEP_WATCH_DIRECTORY)))
            } catch {
                switch error {
                case .noSuchFileOrDirectory, .notDirectory: return (found, step)
                case .permissionDenied: continue  // a path may lead through a directory that the process cannot read
                default: throw error
                }
            }
        }
        return (found, steps.count)
    }

    /// The watch of the directory in which the next missing path component must appear; nil if the whole path exists.
    var awaited: Int32? { isWaiting ? entries.last?.watch : nil }

    /// Removes and returns the directories that need no watch, because no missing component can appear in them.
    mutating func takePassed() -> [Entries] {
        let passed = entries.filter { $0.watch != awaited }
        entries = isWaiting ? entries.suffix(1) : []
        return passed
    }

    /// Stops watching for new entries in a directory.
    func narrow(_ entries: Entries) { _ = try? add(entries.step, TOKENKEEP_WATCH_NO_ENTRIES) }

    private func add(_ step: Int, _ what: Int32) throws(Errno) -> Int32 {
        let watch = tokenkeep_notifier_add(notifier, steps[step], what)
        guard watch >= 0 else { throw Errno(rawValue: errno) }
        return watch
    }
}
