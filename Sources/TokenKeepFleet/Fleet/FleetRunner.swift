package import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys
package import TokenKeepSession

/// The functions of the program that a runner calls.
package struct RunnerSurroundings {
    /// Registers the hooks of a session before the session is ended.
    package var prepare: (SessionEngine) -> Void
    /// Called after an order ended a session. The arguments are the service, the account and the order's reason.
    package var ended: (String, String, String) -> Void
    /// Called with a problem. A failure of the registry is not reported again while the same failure recurs.
    package var warn: (TokenKeepError) -> Void
    /// Name and system of this machine, for writing the device's entry again after it was removed.
    package var machine: (name: String, system: String)
    /// A descriptor that becomes readable when the network changes; -1 for none. The next member reads from it.
    package var network: Int32
    package var drainNetwork: () -> Bool

    package init(
        prepare: @escaping (SessionEngine) -> Void, ended: @escaping (String, String, String) -> Void,
        warn: @escaping (TokenKeepError) -> Void, machine: (name: String, system: String), network: Int32 = -1,
        drainNetwork: @escaping () -> Bool = { false }
    ) {
        self.machine = machine
        (self.prepare, self.ended, self.warn) = (prepare, ended, warn)
        (self.network, self.drainNetwork) = (network, drainNetwork)
    }
}

/// Represents this device in the registry: publishes its sessions and its presence, and obeys orders. Runs in one
/// process.
///
/// The device's keys in the registry follow its local state; the local sessions follow the registry's orders. The
/// process may be killed at any moment: every step may be repeated, because a publication contains the present state,
/// and an order names the session that it ends.
package final class FleetRunner {
    private(set) var fleet: Fleet
    let options: SessionOptions
    let local: LocalSessions
    var state: FleetState
    var lease: Int64 = 0
    /// Whether a full registry refused a change, so that the change must be written again later.
    var isBehind = false
    /// Whether the user was warned that the registry is full.
    private var isFullSaid = false
    private let lock: FleetLock

    /// Takes the lock of the fleet, and reads the device's state.
    ///
    /// - Parameter options: the options for ending sessions and revoking their tokens.
    /// - Throws: ``Status/busy`` if another process runs the fleet on this device.
    package init(_ fleet: Fleet, _ options: SessionOptions) throws(TokenKeepError) {
        self.fleet = fleet
        self.options = options
        local = LocalSessions(fleet.store, fleet.key)
        lock = try FleetLock(fleet.file.name)
        state = try FleetState.read(fleet.file.name, fleet.key)
        local.beginnings = state.beginnings
    }

    var registry: any Registry { fleet.registry }
    var paths: FleetPaths { fleet.paths }

    /// Obeys pending orders, publishes changed sessions, and renews the device's presence under its lease.
    ///
    /// - Returns: the registry's revision before the changes.
    package func synchronize(_ surroundings: RunnerSurroundings) throws(RegistryFailure) -> Int64 {
        try meetDevice(surroundings)
        let revision = try obey(surroundings)
        try publish(surroundings)
        try announce(surroundings)
        return revision
    }

    /// Stores the time at which this device joined. Writes the device's entry again if it was removed, because an order
    /// could not name the device without an entry.
    func meetDevice(_ surroundings: RunnerSurroundings) throws(RegistryFailure) {
        let path = paths.device(fleet.device)
        let entry = try registry.list(prefix: path, keysOnly: false).entries.first { $0.key == path }
        let before = (state.joined, state.name)
        if let value = entry.flatMap({ DeviceValue.open($0, fleet.key) }) {
            if state.joined == 0 { state.joined = value.joined }
            state.name = value.name
        } else {
            if state.joined == 0 { state.joined = RegistryClock.now(registry) }
            let (name, system) = (
                state.name.isEmpty ? surroundings.machine.name : state.name, surroundings.machine.system
            )
            let value = DeviceValue(name: name, system: system, version: TokenKeepVersion.string, joined: state.joined)
            do throws(RegistryFailure) {
                _ = try registry.change([.put(path, try sealed(value, for: path), lease: 0)], ifAbsent: [])
            } catch {
                try miss(error, surroundings)
            }
        }
        if before != (state.joined, state.name) { save(surroundings) }
    }

    /// Reloads the fleet's file and keys, because a join may have brought a new password or certificate.
    func reload() {
        guard let new = try? Fleet(fleet.file.name, fleet.store), new.device == fleet.device,
            new.key.bytes == fleet.key.bytes
        else { return }
        fleet = new
        lease = 0
    }

    /// Writes the state to its file. A failure is only reported as a warning.
    func save(_ surroundings: RunnerSurroundings) {
        state.beginnings = local.beginnings
        do throws(TokenKeepError) {
            try state.write(fleet.file.name, fleet.key)
        } catch {
            surroundings.warn(error)
        }
    }

    func sealed(_ value: some FleetValue, for path: String) throws(RegistryFailure) -> [UInt8] {
        try EtcdRegistry.needing { () throws(TokenKeepError) in try value.sealed(fleet.key, for: path) }
    }

    // MARK: Publication

    /// Writes changed sessions to the registry, and removes ended sessions.
    func publish(_ surroundings: RunnerSurroundings) throws(RegistryFailure) {
        let listed = try registry.list(prefix: paths.sessions, keysOnly: true)
        state.meet(cluster: listed.cluster, revision: listed.revision)
        let own = Set(listed.entries.map(\.key).filter { $0.hasSuffix("/\(fleet.device)") })
        let (found, problem) = try sessions(surroundings)
        let now = RegistryClock.now(registry)
        var puts: [RegistryChange] = []
        var published: [String: FleetState.Published] = [:]
        for session in found {
            let path = paths.session(session.accountID, fleet.device)
            let entry = FleetState.Published(hash: hash(session.value), at: now)
            let before = state.published[session.accountID]
            let isFresh = before.map { $0.hash == entry.hash && $0.isFresh(at: now) } ?? false
            published[session.accountID] = isFresh ? before : entry
            if !isFresh || !own.contains(path) {
                puts.append(.put(path, try sealed(session.value, for: path), lease: 0))
            }
        }
        let kept = Set(found.map { paths.session($0.accountID, fleet.device) })
        // If the list may be incomplete, remove nothing: a session with a damaged note is missing from the list
        // although it has not ended.
        let removals = problem != nil ? [] : own.subtracting(kept).sorted().map { RegistryChange.delete($0) }
        try write(removals)
        do throws(RegistryFailure) {
            try write(puts)
        } catch {
            return try miss(error, surroundings)
        }
        guard
            published != state.published || !puts.isEmpty || !removals.isEmpty
                || state.beginnings != local.beginnings
        else { return }
        state.published = published
        save(surroundings)
    }

    /// The sessions to publish, and an error if some may be missing.
    private func sessions(
        _ surroundings: RunnerSurroundings
    ) throws(RegistryFailure) -> (found: [LocalSessions.Found], problem: TokenKeepError?) {
        var (found, problem) = try EtcdRegistry.needing { () throws(TokenKeepError) in
            try local.list(offset: registry.clockOffset)
        }
        if let problem { surroundings.warn(problem) }
        if found.count > Fleet.mostSessions {
            surroundings.warn(
                TokenKeepError(
                    .policy, "this device has more than \(Fleet.mostSessions) sessions; the others are not published"))
            found.removeLast(found.count - Fleet.mostSessions)
        }
        return (found, problem)
    }

    private func write(_ changes: [RegistryChange]) throws(RegistryFailure) {
        for start in stride(from: 0, to: changes.count, by: 32) {
            _ = try registry.change(Array(changes[start..<min(start + 32, changes.count)]), ifAbsent: [])
        }
    }

    /// The hash of a value without its time of validation. A value that differs only in that time is not written again.
    private func hash(_ value: SessionValue) -> String {
        var value = value
        value.validatedAt = nil
        guard let text = try? value.serialized() else { return "" }
        return Hexadecimal.text(text.withUnsafeBytes { KeyedHash.digest(of: $0, count: 16) })
    }

    // MARK: Presence

    /// Writes the device's presence under a lease, and renews or replaces the lease.
    func announce(_ surroundings: RunnerSurroundings) throws(RegistryFailure) {
        let path = paths.present(fleet.device)
        let value = try sealed(PresentValue(at: RegistryClock.now(registry)), for: path)
        if lease != 0 {
            do throws(RegistryFailure) {
                try registry.renew(lease: lease)
                _ = try registry.change([.put(path, value, lease: lease)], ifAbsent: [])
                return
            } catch {
                // The server may refuse this lease (`denied`) because a key of another user is attached to it. As after
                // the end of the lease, a new lease is granted below.
                guard error.kind == .leaseGone || error.kind == .denied else { return try miss(error, surroundings) }
                lease = 0
            }
        }
        do throws(RegistryFailure) {
            let new = try registry.grant(seconds: fleet.file.presence)
            _ = try registry.change([.put(path, value, lease: new)], ifAbsent: [])
            lease = new
        } catch {
            try miss(error, surroundings)
        }
    }

    // MARK: A full registry

    /// Records that a full registry refused a change; throws any other failure. A full registry still accepts removals,
    /// so sign-outs work.
    private func miss(_ error: RegistryFailure, _ surroundings: RunnerSurroundings) throws(RegistryFailure) {
        guard error.kind == .full else { throw error }
        isBehind = true
        if !isFullSaid { surroundings.warn(error.error) }
        isFullSaid = true
    }

    /// Writes again the changes that a full registry refused.
    func catchUp(_ surroundings: RunnerSurroundings) throws(RegistryFailure) {
        isBehind = false
        try meetDevice(surroundings)
        try publish(surroundings)
        try announce(surroundings)
        isFullSaid = isBehind
    }
}
