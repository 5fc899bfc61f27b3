import CSystemShims
import Glibc
import Synchronization
import SystemPackage
import TokenKeepCore
import TokenKeepKeys

/// The process's only instance of inotify(7), shared by all watches of vaults.
///
/// A watch that reads the kernel's events passes each event on to all watches, so that no watch misses an event that
/// another watch has read.
final class ChangeNotifier: Sendable {
    /// One watch of a vault, with the changes that have not been delivered to the program yet.
    private struct Observer {
        var path: WatchedPath
        let flag: Int32
        var notice = ChangeNotice()
        /// Whether the path cannot be watched now, for example because the system allows no more watches.
        var isUnwatched = false

        /// Adds a change to the undelivered changes, and makes the watch's descriptor readable.
        ///
        /// - Parameter isLogged: whether the vault's log contains the changed records.
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

    /// The address of this process's notifier; 0 if there is none.
    ///
    /// A child of `fork()` makes its own notifier, so that it does not read its parent's events.
    private static let current = Atomic<UInt>(0)
    /// The maximum number of reads in one call. This number is enough for a full event queue of the usual length.
    ///
    /// If more events are queued, the descriptor stays readable, and the next call reads them.
    private static let readsAtOnce = 256

    let descriptor: Int32
    let owner = getpid()
    private let state = MutexGuarded(State())

    /// The notifier of this process, made at the first call and never released.
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

    /// Adds a watch of a vault, and returns its number. A change makes the watch's descriptor `flag` readable.
    func add(vault path: String, flag: Int32) throws(TokenKeepError) -> Int {
        try state.withLock { state throws(TokenKeepError) in
            var watched = WatchedPath(vault: path, notifier: descriptor)
            let others = state.observers.values.map(\.path)
            do throws(Errno) {
                _ = try watched.renew()
            } catch {
                watched.leave()
                watched.tidy(beside: others)
                throw ChangeNotifier.failure(error)
            }
            watched.tidy(beside: others)
            state.nextNumber += 1
            state.observers[state.nextNumber] = Observer(path: watched, flag: flag)
            return state.nextNumber
        }
    }

    /// Removes the watch with this number. Does not affect other watches.
    func remove(_ number: Int) {
        state.withLock { state in
            guard var observer = state.observers.removeValue(forKey: number) else { return }
            observer.path.leave()
            observer.path.tidy(beside: state.observers.values.map(\.path))
        }
    }

    /// Watches the directories and files of a vault's path again, because the log was replaced.
    ///
    /// A replaced log alone does not mean that the vault was replaced.
    func renew(_ number: Int) {
        state.withLock { state in
            guard var observer = state.observers[number] else { return }
            let isReplaced = observer.notice.isReplaced
            renew(&observer, number, state)
            observer.notice.isReplaced = isReplaced
            state.observers[number] = observer
        }
    }

    /// Returns the undelivered changes of a watch, and makes the watch's descriptor unreadable until the next change.
    func take(_ number: Int) -> ChangeNotice {
        state.withLock { state in
            collect(&state)
            guard var observer = state.observers[number] else { return ChangeNotice() }
            if observer.isUnwatched { renew(&observer, number, state) }
            let notice = observer.notice
            observer.notice = ChangeNotice()
            state.observers[number] = observer
            tokenkeep_flag_lower(observer.flag)
            return notice
        }
    }

    /// Notes a change outside the vault for a watch, for example of an item in another module.
    func note(_ number: Int) { state.withLock { $0.observers[number]?.note(isSignal: false) } }

    /// Makes a watch's descriptor readable if `isRaised`; otherwise unreadable, unless undelivered changes remain.
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
            let (path, last) = (observer.path, observer.path.last)
            if hasLost || path.watches.contains(where: { moved.contains($0) || written.contains($0) && $0 != last }) {
                if renew(&observer, number, state) { observer.note() }
                if hasLost { observer.note(lost: true) }
            }
            if let last, written.contains(last) { observer.note(isLogged: true) }
            state.observers[number] = observer
        }
    }

    /// Watches the current directories, links and file of an observer's path; true if some of them were not watched
    /// before.
    @discardableResult
    private func renew(_ observer: inout Observer, _ number: Int, _ state: State) -> Bool {
        var isNew = true
        let wasUnwatched = observer.isUnwatched
        do throws(Errno) {
            isNew = try observer.path.renew()
            observer.isUnwatched = false
        } catch {
            // Changes may be missed until a later attempt succeeds.
            observer.isUnwatched = true
            observer.notice.isUnwatched = true
        }
        if wasUnwatched != observer.isUnwatched { observer.note(lost: true) }
        observer.notice.isReplaced = observer.notice.isReplaced || isNew && !(wasUnwatched && observer.isUnwatched)
        observer.path.tidy(beside: state.observers.filter { $0.key != number }.map(\.value.path))
        return isNew
    }

    static func failure(_ error: Errno) -> TokenKeepError {
        let words = "the vault cannot be watched: \(error)"
        guard [.noSpace, .tooManyOpenFiles].contains(error) else { return TokenKeepError(.io, words) }
        return .shortage(
            words, hint: "raise fs.inotify.max_user_watches and fs.inotify.max_user_instances (sysctl)")
    }
}
