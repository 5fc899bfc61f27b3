import CSodium
import CSystemShims
package import TokenKeepCore
import TokenKeepSession

extension FleetRunner {
    /// The longest time between two lists of the orders, in seconds, even if the watch reports nothing. Etcd's token ends
    /// 300 s after its last use.
    private static let poll: Int64 = 240
    /// The time after which a watch counts as good, in seconds.
    private static let goodWatch: Int64 = 30

    private struct Times {
        var poll: Int64
        var presence: Int64
        var publication: Int64
        /// When to write again what a full registry did not take; nil if it has taken all.
        private(set) var retry: Int64?
        private var retries = Backoff()

        init(presence: Int64) {
            let now = SessionTime.now.boottime
            (poll, self.presence, publication) = (now + FleetRunner.poll, now + presence, now + 3600)
        }

        /// Milliseconds until the next of them.
        var pause: UInt32 {
            let next = min(poll, presence, publication, retry ?? .max)
            return UInt32(clamping: max(0, next - SessionTime.now.boottime) * 1000 + 1)
        }

        /// Plans the next attempt at a full registry: soon at first, and then after pauses of up to five minutes.
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

    /// Runs until the process ends. The registry may be away for as long as it likes.
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
            // A watch that is refused at once is asked for less and less often.
            if hasFollowed, SessionTime.now.boottime - began >= FleetRunner.goodWatch { backoff.reset() }
            let pause = backoff.pause(random: randombytes_uniform(1000))
            // A network that comes back, or a session that changes, is a reason to try at once.
            _ = tokenkeep_wait_readable(sessions.descriptor, surroundings.network, pause)
            if surroundings.drainNetwork() {
                backoff.reset()
                registry.disconnect()
            }
            _ = try? sessions.changes()
        }
    }

    /// Follows changes on both sides until the watch ends.
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
            // The server has stopped, is upgraded or says nothing: the next listing finds what was missed.
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

    /// The tasks that are due by the clock.
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
