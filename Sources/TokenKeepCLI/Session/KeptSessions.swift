import TokenKeepCore
import TokenKeepEngine
import TokenKeepSession

/// The sessions that `session keep` renews, several at a time, so that a silent server does not delay other sessions.
///
/// A call of ``keep(_:_:)`` runs only the steps of changed and due sessions, so its cost hardly depends on the number
/// of other sessions.
final class KeptSessions: Sendable {
    private struct State {
        var infos: [String: SessionInfo] = [:]
        /// The time of each session's next step, in seconds of the boot clock.
        var due = DueTimes()
        /// The time, in seconds of the wall clock, from which a session's next step may run early if a keyring is
        /// unlocked or the network returns.
        var helpedFrom = DueTimes()
        /// The time at which each session's last step began, in seconds of the boot clock.
        var steppedAt: [String: Int64] = [:]
        /// The time, in seconds of the boot clock, before which no further step of a renewed session runs.
        var restsUntil: [String: Int64] = [:]
        /// The sessions whose failure was reported. A failure is not reported again until a step of the session
        /// succeeds.
        var reported: Set<String> = []
        /// The sessions in locked keyrings.
        var locked = LockedSessions()

        mutating func note(_ pause: UInt32, of name: String, isLocked: Bool = false, hasFailed: Bool = false) {
            guard let info = infos[name] else { return }
            due[name] = SessionTime.now.boottime + Int64(pause + 999) / 1000
            helpedFrom[name] = hasFailed ? 0 : State.helpedFrom(info)
            let opened = locked.note(name, isLocked: isLocked)
            for other in opened { hurry(other) }
        }

        /// Makes a session due now.
        mutating func hurry(_ name: String) {
            if infos[name] != nil { due[name] = 0 }
        }

        private static func helpedFrom(_ info: SessionInfo) -> Int64? {
            let isWaiting = info.isStashed || info.coolDownUntil != nil || info.state == .unknown
            return isWaiting ? 0 : [info.refreshAt, info.expiresAt].compactMap { $0?.rawValue }.min()
        }

        /// Removes and returns the sessions that are due. The step of each session schedules its next step.
        ///
        /// - Parameter mayHelp: whether a keyring may have been unlocked, or the network may have returned. If true,
        ///   also returns the sessions whose step may therefore run early.
        mutating func take(mayHelp: Bool, _ now: SessionTime) -> [SessionInfo] {
            var names = due.take(until: now.boottime)
            let resting = Set(names)
            for name in mayHelp ? helpedFrom.take(until: now.wall) : [] where !resting.contains(name) {
                if restsUntil[name, default: 0] <= now.boottime {
                    names.append(name)
                } else {
                    helpedFrom[name] = infos[name].flatMap(State.helpedFrom)
                }
            }
            return names.compactMap { infos[$0] }
        }

        mutating func forget(_ info: SessionInfo) {
            infos[KeptSessions.name(info)] = nil
            due[KeptSessions.name(info)] = nil
            helpedFrom[KeptSessions.name(info)] = nil
            steppedAt[KeptSessions.name(info)] = nil
            restsUntil[KeptSessions.name(info)] = nil
            reported.remove(KeptSessions.name(info))
            locked.forget(KeptSessions.name(info))
        }

        /// Stores a changed session, and schedules its next step. After a renewal, the next step is delayed, because a
        /// server that issues tokens that have already expired would otherwise cause one renewal after another.
        mutating func remember(_ info: SessionInfo, dueAt time: Int64) {
            let name = KeptSessions.name(info)
            let earlier = infos[name]?.generation ?? info.generation
            if earlier < info.generation {
                restsUntil[name] = steppedAt[name].map { $0 + KeptSessions.rest }
            } else if earlier > info.generation {
                restsUntil[name] = nil  // another sign-in
            }
            infos[name] = info
            due[name] = max(time, restsUntil[name] ?? time)
            helpedFrom[name] = State.helpedFrom(info)
        }
    }

    private static let mostAtOnce = 8
    /// The maximum time between two steps of a session, in milliseconds.
    private static let longestPause: UInt32 = 180_000
    private static let shortestPause: UInt32 = 1000
    /// The minimum time between two renewals of a session, in seconds.
    private static let rest: Int64 = 30

    private let store: Store
    private let options: SessionOptions
    private let state = MutexGuarded(State())

    init(_ store: Store, _ options: SessionOptions) { (self.store, self.options) = (store, options) }

    /// Runs the steps that are due. Returns the number of milliseconds until the next step.
    ///
    /// - Parameter keeper: proves that this process is the only keeper of the sessions.
    func keep(_ wake: KeeperWakes.Wake, _ keeper: borrowing SessionKeeper) -> UInt32 {
        let due = choose(wake)
        SideBySide.run(due.count, threads: KeptSessions.mostAtOnce) { [self] in step(due[$0]) }
        return pause()
    }

    /// Records the changes of sessions, and returns the sessions whose steps are due.
    private func choose(_ wake: KeeperWakes.Wake) -> [SessionInfo] {
        let now = SessionTime.now
        return state.withLock { state in
            for info in wake.changes.gone { state.forget(info) }
            for info in wake.changes.present {
                if info.state == .signedOut { state.forget(info) } else { state.remember(info, dueAt: now.boottime) }
            }
            if let name = state.locked.nextLook() { state.hurry(name) }
            return state.take(mayHelp: wake.mayHelp, now)
        }
    }

    /// Returns the number of milliseconds until the earliest next step of all sessions, or until the longest pause has
    /// passed.
    private func pause() -> UInt32 {
        let (next, locked) = state.withLock { state in (state.due.next(), state.locked.pause) }
        let longest = min(KeptSessions.longestPause, locked)
        guard let next else { return longest }
        let seconds = max(0, next - SessionTime.now.boottime)
        return min(longest, UInt32(clamping: seconds * 1000))
    }

    private static func name(_ info: SessionInfo) -> String { "\(info.service)\0\(info.account)" }

    private func step(_ info: SessionInfo) {
        let name = KeptSessions.name(info)
        state.withLock { $0.steppedAt[name] = SessionTime.now.boottime }
        var engine: SessionEngine?
        do throws(TokenKeepError) {
            let session = try SessionEngine(store, service: info.service, account: info.account, options)
            engine = session
            let step = try session.stepAlone()
            state.withLock { state in
                state.note(max(KeptSessions.shortestPause, step.pause), of: name, isLocked: step.isLocked)
                state.reported.remove(name)
            }
        } catch {
            state.withLock { $0.note(KeptSessions.longestPause, of: name, hasFailed: true) }
            // A session whose sign-in is still being written looks missing: do not report this session. If the session
            // really ends, a later change reports it.
            guard error.status != .notFound || info.state != .unknown else { return }
            guard state.withLock({ $0.reported.insert(name).inserted }) else { return }
            Terminal.warn(error)
            guard error.status == .needsLogin || error.status == .expired, let engine else { return }
            // The provider in `info` comes from the session's note, which can be forged, so the sealed record takes
            // precedence.
            let sealed = try? engine.sealed()
            DesktopNotification.askForSignIn(engine.name, provider: sealed?.provider ?? info.provider)
        }
    }
}
