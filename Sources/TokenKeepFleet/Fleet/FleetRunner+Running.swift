import CSodium
import CSystemShims
package import TokenKeepCore
import TokenKeepSession

extension FleetRunner {
    /// The maximum interval, in seconds, between two listings of the orders, even if the watch reports nothing. etcd's
    /// token ends 300 s after its last use.
    private static let poll: Int64 = 240
    /// The time, in seconds, that a watch must last to reset the backoff.
    private static let goodWatch: Int64 = 30

    private struct Times {
        var poll: Int64
        var presence: Int64
        var publication: Int64
        /// The boot time, in seconds, of the next attempt to write to a full registry; nil if no write is outstanding.
        private(set) var retry: Int64?
        private var retries = Backoff()

        init(presence: Int64) {
            let now = SessionTime.now.boottime
            (poll, self.presence, publication) = (now + FleetRunner.poll, now + presence, now + 3600)
        }

        /// The time, in milliseconds, until the earliest of these times.
        var pause: UInt32 {
            let next = min(poll, presence, publication, retry ?? .max)
            return UInt32(clamping: max(0, next - SessionTime.now.boottime) * 1000 + 1)
        }

        /// Schedules the next attempt to write to a full registry. The pauses grow to five minutes.
        mutating func plan(isBehind: Bool) {
            guard isBehind else {
                (retry, retries) = (nil, Backoff())
                return
            }
            let now = SessionTime.now.boottime
            guard retry.map({ now >= $0 }) ?? true else { return }
            retry = now + Int64(retries.pause(random: randombytes_uniform(1000)) + 999) / 1000
        }
    }

    /// Runs until the process ends. The registry may be unavailable for any length of time.
    ///
    /// - Throws: ``Status/io`` if the system allows no watch of the sessions.
    package func run(_ surroundings: RunnerSurroundings) throws(TokenKeepError) {
        let sessions = try SessionsWatch(fleet.store)
        var backoff = Backoff()
        var last = ""
        while true {
            var (began, hasFollowed) = (SessionTime.now.boottime, false)
            do throws(RegistryFailure) {
                let revision = try synchronize(surroundings)
                last = ""
                (began, hasFollowed) = (SessionTime.now.boottime, true)
                try follow(from: revision, sessions, surroundings)
            } catch {
                if error.kind == .denied || error.kind == .certificate { reload() }
                if error.error.message != last { surroundings.warn(error.error) }
                last = error.error.message
            }
            // A server may refuse each watch at once. So the pause grows with each attempt, and only a watch that
            // lasted long enough resets the pause.
            if hasFollowed, SessionTime.now.boottime - began >= FleetRunner.goodWatch { backoff.reset() }
            let pause = backoff.pause(random: randombytes_uniform(1000))
            // A change of the network or of a session ends the pause.
            _ = tokenkeep_wait_readable(sessions.descriptor, surroundings.network, pause)
            if surroundings.drainNetwork() {
                backoff.reset()
                registry.disconnect()
            }
            _ = try? sessions.changes()
        }
    }

    /// Handles changes of orders and of local sessions until the watch ends.
    private func follow(
        from revision: Int64, _ sessions: SessionsWatch, _ surroundings: RunnerSurroundings
    ) throws(RegistryFailure) {
        let watch = try registry.watch(prefixes: [paths.orders(of: fleet.device), paths.everywheres], from: revision)
        let presence = max(10, fleet.file.presence / 3)
        var times = Times(presence: presence)
        while true {
            tokenkeep_give_back_memory()
            times.plan(isBehind: isBehind)
            let event = watch.next(within: times.pause, or: sessions.descriptor, surroundings.network)
            if surroundings.drainNetwork() {
                registry.disconnect()
                watch.probe()
            }
            switch event {
            // The server has stopped or is silent. The next listing finds the changes that this watch missed.
            case .ended: return
            case .changed: _ = try obey(surroundings)
            case .nothing: break
            }
            if try haveChanged(sessions) {
                try publish(surroundings)
                times.publication = SessionTime.now.boottime + 3600
            }
            try keep(&times, presence, surroundings)
        }
    }

    private func haveChanged(_ sessions: SessionsWatch) throws(RegistryFailure) -> Bool {
        let changes = try EtcdRegistry.needing { () throws(TokenKeepError) in try sessions.changes() }
        return !changes.present.isEmpty || !changes.gone.isEmpty
    }

    /// Runs the tasks whose time has come.
    private func keep(
        _ times: inout Times, _ presence: Int64, _ surroundings: RunnerSurroundings
    ) throws(RegistryFailure) {
        let now = SessionTime.now.boottime
        if let retry = times.retry, now >= retry { try catchUp(surroundings) }
        if now >= times.poll {
            _ = try obey(surroundings)
            flush()
            times.poll = now + FleetRunner.poll
        }
        if now >= times.publication {
            try publish(surroundings)
            times.publication = now + 3600
        }
        if now >= times.presence {
            try announce(surroundings)
            times.presence = now + presence
        }
    }

    /// Revokes tokens of ended sessions whose revocation failed before.
    func flush() {
        let outbox = Outbox(fleet.store, options)
        guard options.transport != nil, outbox.mayHaveTokens else { return }
        _ = try? outbox.flush(service: nil)
    }
}
