import CSystemShims
import Glibc
import SystemPackage

/// What is watched for one vault: its file `changed`, and every directory on the way to it, so that it is seen when one of
/// them is made, moved or removed.
struct WatchedPath {
    private let notifier: Int32
    /// The directories from the root to the vault, then the file.
    private let steps: [String]
    /// The watches of the steps that are there.
    private(set) var watches: [Int32] = []
    /// The directories that are watched for what is made in them: the last one, in which the next step is to be made, and
    /// those above it that were the last.
    private(set) var entries: [Entries] = []
    /// Whether a step is still to be made.
    private var isWaiting = false

    /// A directory that is watched for what is made in it.
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
        steps.append(path + "/" + ChangeSignal.file)
        self.steps = steps
    }

    /// Watches what is there now; of the last directory that is there, what is made in it.
    mutating func renew() throws(Errno) {
        // What is made between looking for it and watching its directory is found by looking again.
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

    /// Watches the steps down to the first that is missing, whose index is `next`.
    private func watchSteps() throws(Errno) -> (found: [(step: Int, watch: Int32)], next: Int) {
        var found: [(step: Int, watch: Int32)] = []
        for step in steps.indices {
            let isFile = step == steps.count - 1
            do throws(Errno) {
                found.append((step, try add(step, isFile ? TOKENKEEP_WATCH_FILE : TOKENKEEP_WATCH_DIRECTORY)))
            } catch {
                switch error {
                case .noSuchFileOrDirectory, .notDirectory: return (found, step)
                case .permissionDenied: continue  // a directory may be passed that may not be read
                default: throw error
                }
            }
        }
        return (found, steps.count)
    }

    /// The watch of the directory in which the next step is to be made; nil where all are there.
    var awaited: Int32? { isWaiting ? entries.last?.watch : nil }

    /// Forgets the directories in which nothing is waited for any more, and names them.
    mutating func takePassed() -> [Entries] {
        let passed = entries.filter { $0.watch != awaited }
        entries = isWaiting ? entries.suffix(1) : []
        return passed
    }

    /// Is not told any more what is made in a directory.
    func narrow(_ entries: Entries) { _ = try? add(entries.step, TOKENKEEP_WATCH_NO_ENTRIES) }

    private func add(_ step: Int, _ what: Int32) throws(Errno) -> Int32 {
        let watch = tokenkeep_notifier_add(notifier, steps[step], what)
        guard watch >= 0 else { throw Errno(rawValue: errno) }
        return watch
    }
}
