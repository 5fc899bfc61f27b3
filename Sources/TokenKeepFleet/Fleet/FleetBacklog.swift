package import TokenKeepCore
import TokenKeepSession

/// The work that waits for this device in the registry, and the time for which the device may be silent.
package struct FleetBacklog: Sendable {
    /// The orders that wait for this device, those for everywhere included.
    package var orders = 0
    /// Seconds since the oldest waiting order was given; 0 if no order waits.
    package var lag: Int64 = 0
    /// The sessions here that are not in the registry as they are, and those there that have ended here; nil if the sessions
    /// cannot be read.
    package var unpublished: Int?
    /// Seconds until the registry takes this device for gone; nil if the device has no lease, or if that is unknown.
    package var leaseLeft: Int64?
    /// Whether the registry did not say how long the device's lease lasts.
    package var isLeaseUnknown = false
}

extension Fleet {
    /// Compares the registry with this device. Asks the registry for the lease.
    package func backlog(in listing: FleetListing) throws(TokenKeepError) -> FleetBacklog {
        var backlog = FleetBacklog()
        var given: [Int64] = listing.sessions.filter { $0.device == device }.compactMap {
            if case .waiting(let since)? = $0.order { since } else { nil }
        }
        let state = try FleetState.read(file.name, key)
        for (path, everywhere) in listing.everywhere
        where OrderRules.isDue(everywhere, obeyed: state.handled[path], joined: state.joined, now: listing.asOf) {
            given.append(everywhere.eventAt)
        }
        backlog.orders = given.count
        backlog.lag = given.min().map { max(0, listing.asOf - $0) } ?? 0
        backlog.unpublished = unpublished(listing)
        guard let lease = listing.device(device)?.lease, lease != 0 else { return backlog }
        // Some versions refuse the question, and the status is good without the answer.
        do throws(RegistryFailure) {
            backlog.leaseLeft = try registry.timeLeft(lease: lease)
        } catch {
            backlog.isLeaseUnknown = true
        }
        return backlog
    }

    private func unpublished(_ listing: FleetListing) -> Int? {
        guard let found = try? Sessions(store).identified(), found.problem == nil else { return nil }
        let local = LocalSessions(store, key)
        var here: [String: [String?]] = [:]
        for session in found.sessions {
            let info = session.info
            // A session's beginning is part of its identity; the time of its validation alone is no reason to publish.
            here[key.accountID(service: info.service, account: info.account)] = [
                local.identity(info, session.identity), info.state.word, info.level?.word, info.provider,
            ]
        }
        var there: [String: [String?]] = [:]
        for session in listing.sessions where session.device == device {
            let value = session.value
            there[session.accountID] = [value.session, value.state, value.level, value.provider]
        }
        return Set(here.keys).union(there.keys).filter { here[$0] != there[$0] }.count
    }
}
