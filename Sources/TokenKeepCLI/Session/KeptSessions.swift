import Dispatch
import TokenKeepCore
import TokenKeepEngine
import TokenKeepSession

/// The sessions that `session keep` renews, several at a time: a server that does not answer keeps no other one waiting.
final class KeptSessions: Sendable {
    private struct State {
        var waiting: [SessionInfo] = []
        var pause = KeptSessions.longestPause
        /// The sessions whose end was reported. Each is reported once until its user has signed in again.
        var reported: Set<String> = []
    }

    private static let mostAtOnce = 8
    /// The longest time between two looks at the list of sessions, in milliseconds.
    private static let longestPause: UInt32 = 180_000
    private static let shortestPause: UInt32 = 1000

    private let store: Store
    private let service: String?
    private let options: SessionOptions
    private let state = MutexGuarded(State())

    init(_ store: Store, service: String?, _ options: SessionOptions) {
        (self.store, self.service, self.options) = (store, service, options)
    }

    /// Does what is due for each session, as the one process that keeps them. Returns milliseconds until the next time.
    func keep(_ keeper: borrowing SessionKeeper) throws(TokenKeepError) -> UInt32 {
        let sessions = try Sessions(store).list(service: service).sessions.filter { $0.state != .signedOut }
        state.withLock { state in
            state.waiting = sessions.reversed()
            state.pause = KeptSessions.longestPause
        }
        let isDone = DispatchSemaphore(value: 0)
        var threads = 0
        for _ in 1..<max(1, min(KeptSessions.mostAtOnce, sessions.count)) {
            let error = DetachedThread.start { [self] in
                work()
                isDone.signal()
            }
            threads += error == 0 ? 1 : 0
        }
        work()
        for _ in 0..<threads { isDone.wait() }
        return state.withLock { $0.pause }
    }

    private func work() {
        while let info = state.withLock({ $0.waiting.popLast() }) { keep(info) }
    }

    private func keep(_ info: SessionInfo) {
        let name = "\(info.service)\0\(info.account)"
        do throws(TokenKeepError) {
            let session = try Session(store, service: info.service, account: info.account, options)
            let pause = max(KeptSessions.shortestPause, try session.stepAlone())
            state.withLock { state in
                state.pause = min(state.pause, pause)
                state.reported.remove(name)
            }
        } catch {
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
