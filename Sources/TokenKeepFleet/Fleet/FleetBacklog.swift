package import TokenKeepCore
import TokenKeepSession

/// The pending work of this device in the registry, and the time left until the device counts as gone.
package struct FleetBacklog: Sendable {
    /// The number of pending orders for this device, including orders for everywhere.
    package var orders = 0
    /// The age of the oldest pending order, in seconds; 0 if there is none.
    package var lag: Int64 = 0
    /// The number of sessions with a missing, outdated or obsolete registry entry; nil if sessions cannot be read.
    package var unpublished: Int?
    /// The time, in seconds, until the device's lease ends; nil if the device has no lease, or if the time is unknown.
    package var leaseLeft: Int64?
    /// Whether the query for the lease's remaining time failed.
    package var isLeaseUnknown = false
}

extension Fleet {
    /// Compares a listing with this device. Queries the registry for the remaining time of the lease.
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
        // Some versions of etcd refuse this query. A failure is only noted, because the other figures are valid without
        // its result.
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
            // Do not compare a session's beginning, which is part of its identity, nor its time of validation, because
            // a new time of validation alone is not published.
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
