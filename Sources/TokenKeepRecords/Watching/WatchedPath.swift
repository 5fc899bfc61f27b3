import CSystemShims
import Glibc
import SystemPackage

/// A watched path: its file or directory, and each directory and symbolic link on the way to it.
///
/// A watch reports if one of these components is made, moved, removed or replaced. The kernel does not report the
/// removal of a directory to the directory's own watch while a process has the directory open, and watching programs
/// have the vault's directory open. While a component is missing, the parent of the last existing directory is
/// therefore watched for removals.
struct WatchedPath {
    /// The kind of the file at the end of the path.
    enum Kind {
        /// A file. A change of its times is reported.
        case file
        /// A directory. Changes of its files are reported.
        case folder
    }

    /// A directory whose watch reports more than the directory's own removal.
    struct Extension: Hashable {
        let path: String
        let watch: Int32
        /// `TOKENKEEP_WATCH_ENTRIES` or `TOKENKEEP_WATCH_REMOVALS`.
        let events: Int32
    }

    /// The maximum number of walks in one call while other processes change the path. Later changes cause new events,
    /// and thereby another walk.
    private static let attempts = 16

    private let notifier: Int32
    private let kind: Kind
    private let path: String
    private var walked = PathWalk()
    /// The kernel's watches that walks have made. Some may no longer be needed.
    private var made: Set<Int32> = []
    /// The directories whose watches were extended. Some may no longer need the extension.
    private var extended: Set<Extension> = []

    init(_ path: String, _ kind: Kind, notifier: Int32) {
        self.path = path
        self.kind = kind
        self.notifier = notifier
    }

    /// The path of the vault's log of changes.
    init(vault path: String, notifier: Int32) { self.init("\(path)/\(ChangeLog.file)", .file, notifier: notifier) }

    /// The kernel's watches of the existing directories, links and file of the path.
    var watches: [Int32] { walked.watches }
    /// The watch of the file at the end of the path; nil if the file is missing.
    var last: Int32? { walked.last }

    /// Watches the current components of the path. Call ``tidy(beside:)`` afterwards.
    ///
    /// - Returns: whether the set of watches has changed.
    mutating func renew() throws(Errno) -> Bool {
        let before = walked
        // A component may be replaced while the next components are opened, so walk until two walks agree.
        for _ in 0..<WatchedPath.attempts {
            let walk = try walk()
            guard walk != walked || walk.isDisturbed else { break }
            walked = walk
        }
        return walked.watches != before.watches
    }

    private mutating func walk() throws(Errno) -> PathWalk {
        var walk = PathWalk()
        // Even a failed walk has made watches.
        defer {
            made.formUnion(walk.watches)
            extended.formUnion(walk.extensions)
        }
        try walk.go(along: path, kind, notifier: notifier)
        return walk
    }

    /// Forgets the components of the path. Call ``tidy(beside:)`` afterwards.
    mutating func leave() { walked = PathWalk() }

    /// Removes the kernel's watches and extensions that no path of this notifier needs any more.
    ///
    /// Otherwise new files in the home directory would wake a watch that began before the vault existed.
    mutating func tidy(beside others: [WatchedPath]) {
        let paths = others + [self]
        for watch in made where !paths.contains(where: { $0.watches.contains(watch) }) {
            tokenkeep_notifier_remove(notifier, watch)
        }
        for passed in extended.subtracting(walked.extensions) { narrow(passed, for: paths) }
        made = Set(walked.watches)
        extended = walked.extensions
    }

    /// Reduces the watch of a directory to the events that some path needs.
    private func narrow(_ passed: Extension, for paths: [WatchedPath]) {
        // Skip a directory that is no longer watched, because the call below would watch it again.
        guard paths.contains(where: { $0.watches.contains(passed.watch) }) else { return }
        let found = tokenkeep_notifier_add(
            notifier, passed.path, WatchedPath.events(of: passed.watch, paths) | TOKENKEEP_WATCH_EXACT)
        guard found >= 0, found != passed.watch else { return }
        // Another directory has just been put at the path.
        if paths.contains(where: { $0.watches.contains(found) }) {
            _ = tokenkeep_notifier_add(notifier, passed.path, WatchedPath.events(of: found, paths))
        } else {
            tokenkeep_notifier_remove(notifier, found)
        }
    }

    private static func events(of watch: Int32, _ paths: [WatchedPath]) -> Int32 {
        paths.flatMap(\.walked.extensions).filter { $0.watch == watch }
            .reduce(TOKENKEEP_WATCH_DIRECTORY) { $0 | $1.events }
    }
}
