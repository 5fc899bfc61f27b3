import CSystemShims
import Glibc
import SystemPackage

/// A walk along a path that watches each directory and symbolic link, up to the first missing component.
///
/// Each directory is watched before its next component is looked up, so that no replacement goes unnoticed.
struct PathWalk: Equatable {
    /// The watches of the existing components, in the order of the path.
    private(set) var watches: [Int32] = []
    /// The watch of the file at the end of the path; nil if the file is missing.
    private(set) var last: Int32?
    /// The directories in which a component may appear or be replaced.
    private(set) var extensions: Set<WatchedPath.Extension> = []
    /// Whether a directory was removed or replaced during the walk.
    private(set) var isDisturbed = false

    /// Walks along an absolute path. After an error, this value contains the components found so far.
    mutating func go(along path: String, _ kind: WatchedPath.Kind, notifier: Int32) throws(Errno) {
        var walker = PathWalker(path, kind, notifier: notifier)
        try walker.walk(&self)
    }

    fileprivate mutating func note(_ watch: Int32, isLast: Bool = false) {
        watches.append(watch)
        if isLast { last = watch }
    }

    fileprivate mutating func note(_ found: WatchedPath.Extension) { extensions.insert(found) }
    fileprivate mutating func noteDisturbance() { isDisturbed = true }
}

private struct PathWalker {
    /// The maximum number of symbolic links in a path, which is also the kernel's limit.
    private static let mostLinks = 40

    private let notifier: Int32
    private let kind: WatchedPath.Kind
    /// The remaining components, in reverse order.
    private var rest: [Substring]
    /// The components of the current directory, without symbolic links.
    private var place: [Substring] = []
    private var links = 0

    init(_ path: String, _ kind: WatchedPath.Kind, notifier: Int32) {
        self.notifier = notifier
        self.kind = kind
        rest = path.split(separator: "/").reversed()
    }

    mutating func walk(_ walk: inout PathWalk) throws(Errno) {
        try enter("/", isLast: false, &walk)
        while let name = rest.popLast() {
            switch name {
            case ".": continue
            case "..":
                _ = place.popLast()
                continue
            default:
                let isThere = try step(to: name, &walk)
                guard isThere else { return try waitForNext(&walk) }
            }
        }
        // The removal of a directory with open files may go unnoticed, so watch its parent. A file reports its own
        // removal.
        if kind == .folder { try extend(place.dropLast(), TOKENKEEP_WATCH_REMOVALS, &walk) }
    }

    private func path(_ components: some Sequence<Substring>) -> String { "/" + components.joined(separator: "/") }

    /// Moves on to a component of the current directory; false if the component is missing.
    private mutating func step(to name: Substring, _ walk: inout PathWalk) throws(Errno) -> Bool {
        let next = path(place + [name])
        do throws(Errno) {
            try enter(next, isLast: rest.isEmpty, &walk)
        } catch {
            switch error {
            case .noSuchFileOrDirectory: return false
            case .notDirectory: return try follow(next, &walk)
            case .permissionDenied: break  // a path may lead through a directory that the process cannot read
            default: throw error
            }
        }
        place.append(name)
        return true
    }

    private func enter(_ path: String, isLast: Bool, _ walk: inout PathWalk) throws(Errno) {
        let last = kind == .file ? TOKENKEEP_WATCH_FILE : TOKENKEEP_WATCH_CONTENT
        walk.note(try add(path, isLast ? last : TOKENKEEP_WATCH_DIRECTORY), isLast: isLast)
    }

    /// Follows a symbolic link; false if the file is not a symbolic link, or if the path has too many.
    private mutating func follow(_ link: String, _ walk: inout PathWalk) throws(Errno) -> Bool {
        do throws(Errno) {
            walk.note(try add(link, TOKENKEEP_WATCH_FILE))
        } catch {
            guard [.noSuchFileOrDirectory, .notDirectory].contains(error) else { throw error }
            return false
        }
        links += 1
        guard links <= PathWalker.mostLinks, let target = PathWalker.target(of: link) else { return false }
        if target.hasPrefix("/") { place = [] }
        rest += target.split(separator: "/").reversed()
        return true
    }

    private static func target(of link: String) -> String? {
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(link, &bytes, bytes.count)
        guard count > 0 else { return nil }
        return String(validating: bytes[..<count].lazy.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Watches the current directory for the next component, and its parent for the removal of the current directory.
    private func waitForNext(_ walk: inout PathWalk) throws(Errno) {
        try extend(place[...], TOKENKEEP_WATCH_ENTRIES, &walk)
        if !place.isEmpty { try extend(place.dropLast(), TOKENKEEP_WATCH_REMOVALS, &walk) }
    }

    private func extend(
        _ directory: ArraySlice<Substring>, _ events: Int32, _ walk: inout PathWalk
    ) throws(Errno) {
        let path = path(directory)
        do throws(Errno) {
            let watch = try add(path, TOKENKEEP_WATCH_DIRECTORY | events)
            walk.note(WatchedPath.Extension(path: path, watch: watch, events: events))
        } catch {
            switch error {
            case .permissionDenied: break
            case .noSuchFileOrDirectory, .notDirectory: walk.noteDisturbance()
            default: throw error
            }
        }
    }

    private func add(_ path: String, _ what: Int32) throws(Errno) -> Int32 {
        let watch = tokenkeep_notifier_add(notifier, path, what)
        guard watch >= 0 else { throw Errno(rawValue: errno) }
        return watch
    }
}
