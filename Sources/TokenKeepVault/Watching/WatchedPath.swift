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
            guard next < steps.count, next != previous, let last = found.last else { return }
            _ = try add(last.step, TOKENKEEP_WATCH_ENTRIES)
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

    private func add(_ step: Int, _ what: Int32) throws(Errno) -> Int32 {
        let watch = tokenkeep_notifier_add(notifier, steps[step], what)
        guard watch >= 0 else { throw Errno(rawValue: errno) }
        return watch
    }
}
