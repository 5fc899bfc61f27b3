import CSystemShims
import Glibc
import Synchronization
import SystemPackage
import TokenKeepCore
import TokenKeepKeys

/// The process's only instance of inotify(7), which notifies all watches of vaults.
///
/// Any watch may read the kernel's events. The reading watch passes each event on to all watches, so that no watch
/// misses an event that another watch has read.
final class ChangeNotifier: Sendable {
    /// One watch of a vault, with the changes that were not yet delivered to the watching program.
    private struct Observer {
        var path: WatchedPath
        let flag: Int32
        var notice = ChangeNotice()

        /// Adds a change to the undelivered changes, and makes the watch's descriptor readable.
        ///
        /// - Parameter isLogged: whether the vault's log names the changed records.
        mutating func note(lost: Bool = false, isSignal: Bool = true, isLogged: Bool = false) {
            notice.hasChanged = true
            if !isLogged { notice.records = nil }
            notice.isSignalled = notice.isSignalled || isSignal
            notice.hasLost = notice.hasLost || lost
            tokenkeep_flag_raise(flag)
        }
    }

    private struct State {
        var observers: [Int: Observer] = [:]
        var nextNumber = 0
    }

    /// The address of this process's notifier of changes.
    ///
    /// A child of `fork()` makes its own notifier, so that it does not take its parent's events.
    private static let current = Atomic<UInt>(0)
    /// The maximum number of reads in one call, enough for a full event queue of the usual length.
    ///
    /// If more events wait, the descriptor stays readable, and the next call reads them.
    private static let readsAtOnce = 256

    let descriptor: Int32
    let owner = getpid()
    private let state = MutexGuarded(State())

    /// The instance of this process, made at the first call and never released.
    static func shared() throws(TokenKeepError) -> ChangeNotifier {
        while true {
            let present = current.load(ordering: .acquiring)
            if let address = UnsafeRawPointer(bitPattern: present) {
                let notifier = Unmanaged<ChangeNotifier>.fromOpaque(address).takeUnretainedValue()
                if notifier.owner == getpid() { return notifier }
            }
            let made = Unmanaged.passRetained(try ChangeNotifier())
            let address = UInt(bitPattern: made.toOpaque())
            let (isOurs, _) = current.compareExchange(
                expected: present, desired: address, ordering: .acquiringAndReleasing)
            if isOurs { return made.takeUnretainedValue() }
            made.release()
        }
    }

    private init() throws(TokenKeepError) {
        descriptor = tokenkeep_notifier_open()
        guard descriptor >= 0 else { throw ChangeNotifier.failure(Errno(rawValue: errno)) }
    }

    deinit { close(descriptor) }

    /// Adds a watch of a vault. A change makes the watch's descriptor `flag` readable.
    func add(vault path: String, flag: Int32) throws(TokenKeepError) -> Int {
        try state.withLock { state throws(TokenKeepError) in
            var watched = WatchedPath(vault: path, notifier: descriptor)
            do throws(Errno) {
                try watched.renew()
            } catch {
                throw ChangeNotifier.failure(error)
            }
            let passed = watched.takePassed()
            state.nextNumber += 1
            state.observers[state.nextNumber] = Observer(path: watched, flag: flag)
            narrow(passed, of: watched, state)
            return state.nextNumber
        }
    }

    /// Removes the watch with this number. Other watches are not affected.
    func remove(_ number: Int) {
        state.withLock { state in
            guard let observer = state.observers.removeValue(forKey: number) else { return }
            drop(observer.path.watches, state)
            narrow(observer.path.entries, of: observer.path, state)
        }
    }

    /// Watches the directories and files of a vault's path again, because one of them was replaced.
    func renew(_ number: Int) {
        state.withLock { state in
            guard var observer = state.observers[number] else { return }
            _ = renew(&observer, state, number)
            state.observers[number] = observer
        }
    }

    /// Returns the undelivered changes of a watch, and makes the watch's descriptor unreadable until the next change.
    func take(_ number: Int) -> ChangeNotice {
        state.withLock { state in
            collect(&state)
            guard var observer = state.observers[number] else { return ChangeNotice() }
            let notice = observer.notice
            observer.notice = ChangeNotice()
            state.observers[number] = observer
            tokenkeep_flag_lower(observer.flag)
            return notice
        }
    }

    /// Tells a watch that something outside the vault has changed, for example an item in another module.
    func note(_ number: Int) { state.withLock { $0.observers[number]?.note(isSignal: false) } }

    /// Makes a watch's descriptor readable if `isRaised`. If not, makes the descriptor unreadable, unless changes are
    /// undelivered.
    func setFlag(_ isRaised: Bool, of number: Int) {
        state.withLock { state in
            guard let observer = state.observers[number] else { return }
            if isRaised || observer.notice.hasChanged {
                tokenkeep_flag_raise(observer.flag)
            } else {
                tokenkeep_flag_lower(observer.flag)
            }
        }
    }

    private func collect(_ state: inout State) {
        let capacity = Int(TOKENKEEP_NOTICES)
        var notices = [tokenkeep_notice](repeating: tokenkeep_notice(), count: capacity)
        for _ in 0..<ChangeNotifier.readsAtOnce {
            let count = tokenkeep_notifier_read(descriptor, &notices, capacity)
            guard count > 0 else { return }
            hand(notices[..<count], to: &state)
        }
    }

    private func hand(_ notices: ArraySlice<tokenkeep_notice>, to state: inout State) {
        var written: Set<Int32> = []
        var moved: Set<Int32> = []
        var hasLost = false
        for notice in notices {
            switch notice.kind {
            case TOKENKEEP_NOTICE_WRITTEN: written.insert(notice.watch)
            case TOKENKEEP_NOTICE_OVERFLOW: hasLost = true
            default: moved.insert(notice.watch)
            }
        }
        for (number, var observer) in state.observers {
            let watches = observer.path.watches
            if hasLost || watches.contains(where: moved.contains) {
                let isNew = renew(&observer, state, number)
                if isNew || hasLost { observer.note(lost: hasLost) }
            }
            if watches.contains(where: written.contains) { observer.note(isLogged: true) }
            state.observers[number] = observer
        }
    }

    /// Watches the directories and files that a vault's path has now; true if any of them was not watched before.
    private func renew(_ observer: inout Observer, _ state: State, _ number: Int) -> Bool {
        let before = observer.path.watches
        // If the path cannot be watched, changes may be missed: tell the observer that changes were lost.
        guard (try? observer.path.renew()) != nil else {
            observer.note(lost: true)
            return true
        }
        let passed = observer.path.takePassed()
        var others = state
        others.observers[number] = observer
        if !passed.isEmpty { narrow(passed, of: observer.path, others) }
        guard observer.path.watches != before else { return false }
        drop(before, others)
        return true
    }

    /// Removes the kernel's watches of files that no observer of a vault needs any more.
    private func drop(_ watches: [Int32], _ state: State) {
        for watch in watches where !state.observers.values.contains(where: { $0.path.watches.contains(watch) }) {
            tokenkeep_notifier_remove(descriptor, watch)
        }
    }

    /// Stops watching for new entries in those directories where no observer waits for a new entry.
    ///
    /// New files in a home directory then do not wake an observer that started before the vault existed.
    private func narrow(_ passed: [WatchedPath.Entries], of path: WatchedPath, _ state: State) {
        let paths = state.observers.values.map(\.path)
        for entries in passed {
            // Skip a directory that is no longer watched: the call below would watch it again.
            guard paths.contains(where: { $0.watches.contains(entries.watch) }),
                !paths.contains(where: { $0.awaited == entries.watch })
            else { continue }
            path.narrow(entries)
        }
    }

    static func failure(_ error: Errno) -> TokenKeepError {
        let words = "the vault cannot be watched: \(error)"
        guard [.noSpace, .tooManyOpenFiles].contains(error) else { return TokenKeepError(.io, words) }
        return .shortage(
            words, hint: "raise fs.inotify.max_user_watches and fs.inotify.max_user_instances (sysctl)")
    }
}
