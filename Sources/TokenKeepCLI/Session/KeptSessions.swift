import Dispatch
import TokenKeepCore
import TokenKeepEngine
import TokenKeepSession

/// The sessions that `session keep` renews, several at a time: a server that does not answer keeps no other one waiting.
///
/// A look takes the steps of the changed sessions and of those that are due, whatever the number of the others.
final class KeptSessions: Sendable {
    private struct Kept {
        var info: SessionInfo
        /// The next step, in seconds of the boot clock.
        var dueAt: Int64
        /// Whether the last step failed.
        var hasFailed = false

        /// Whether a keyring that opens, or a network that is back, may help.
        func isWaiting(at now: Int64) -> Bool {
            let isOver = [info.refreshAt, info.expiresAt].contains { $0.map { $0.rawValue <= now } ?? false }
            return hasFailed || isOver || info.isStashed || info.coolDownUntil != nil || info.state == .unknown
        }
    }

    private struct State {
        var kept: [String: Kept] = [:]
        var waiting: [SessionInfo] = []
        /// The sessions whose end was reported. Each is reported once until its user has signed in again.
        var reported: Set<String> = []

        mutating func note(_ pause: UInt32, of name: String, hasFailed: Bool) {
            kept[name]?.dueAt = SessionTime.now.boottime + Int64(pause + 999) / 1000
            kept[name]?.hasFailed = hasFailed
        }
    }

    private static let mostAtOnce = 8
    /// The longest time between two steps of a session, in milliseconds.
    private static let longestPause: UInt32 = 180_000
    private static let shortestPause: UInt32 = 1000

    private let store: Store
    private let options: SessionOptions
    private let state = MutexGuarded(State())

    init(_ store: Store, _ options: SessionOptions) { (self.store, self.options) = (store, options) }

    /// Does what is due for each session, as the one process that keeps them. Returns milliseconds until the next time.
    func keep(_ wake: KeeperWakes.Wake, _ keeper: borrowing SessionKeeper) -> UInt32 {
        let threads = max(1, min(KeptSessions.mostAtOnce, choose(wake)))
        let isDone = DispatchSemaphore(value: 0)
        var started = 0
        for _ in 1..<threads {
            let error = DetachedThread.start { [self] in
                work()
                isDone.signal()
            }
            started += error == 0 ? 1 : 0
        }
        work()
        for _ in 0..<started { isDone.wait() }
        return pause()
    }

    /// Notes the changes, and chooses the sessions whose turn it is. Returns their number.
    private func choose(_ wake: KeeperWakes.Wake) -> Int {
        let now = SessionTime.now
        return state.withLock { state in
            for info in wake.changes.gone { state.kept[KeptSessions.name(info)] = nil }
            for info in wake.changes.present {
                let name = KeptSessions.name(info)
                state.kept[name] = info.state == .signedOut ? nil : Kept(info: info, dueAt: now.boottime)
            }
            let due = state.kept.values.filter {
                $0.dueAt <= now.boottime || wake.mayHelp && $0.isWaiting(at: now.wall)
            }
            state.waiting = due.map(\.info)
            return due.count
        }
    }

    /// Milliseconds until the next step of any session.
    private func pause() -> UInt32 {
        let next = state.withLock { state in state.kept.values.lazy.map(\.dueAt).min() }
        guard let next else { return KeptSessions.longestPause }
        let seconds = max(0, next - SessionTime.now.boottime)
        return min(KeptSessions.longestPause, UInt32(clamping: seconds * 1000))
    }

    private static func name(_ info: SessionInfo) -> String { "\(info.service)\0\(info.account)" }

    private func work() {
        while let info = state.withLock({ $0.waiting.popLast() }) { keep(info) }
    }

    private func keep(_ info: SessionInfo) {
        let name = KeptSessions.name(info)
        do throws(TokenKeepError) {
            let session = try Session(store, service: info.service, account: info.account, options)
            let pause = max(KeptSessions.shortestPause, try session.stepAlone())
            state.withLock { state in
                state.note(pause, of: name, hasFailed: false)
                state.reported.remove(name)
            }
        } catch {
            state.withLock { $0.note(KeptSessions.longestPause, of: name, hasFailed: true) }
            // A sign-in is being written: its end is a change.
            guard error.status != .notFound || info.state != .unknown else { return }
            guard state.withLock({ $0.reported.insert(name).inserted }) else { return }
            Terminal.warn(error)
            if error.status == .needsLogin || error.status == .expired {
                DesktopNotification.askForSignIn(service: info.service, account: info.account)
            }
        }
    }
}
