package import TokenKeepCore
import TokenKeepSession

/// The work that waits for this device in the registry, and the time for which the device may be silent.
package struct FleetBacklog: Sendable {
    /// The orders that wait for this device, those for everywhere included.
    package var orders = 0
    /// Seconds since the oldest of them was given; 0 if none waits.
    package var lag: Int64 = 0
    /// The sessions here that are not in the registry as they are, and those there that have ended here; nil if the sessions
    /// cannot be read.
    package var unpublished: Int?
    /// Seconds until the registry takes this device for gone; nil if the device has no lease.
    package var leaseLeft: Int64?
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
        backlog.leaseLeft = (try? registry.timeLeft(lease: lease)) ?? nil
        return backlog
    }

    private func unpublished(_ listing: FleetListing) -> Int? {
        guard let found = try? Sessions(store).identified(), found.problem == nil else { return nil }
        let local = LocalSessions(store, key)
        let here = Set(
            found.sessions.map {
                "\(key.accountID(service: $0.info.service, account: $0.info.account)) \(local.identity($0.info, $0.identity)) \($0.info.state.word)"
            })
        let there = Set(
            listing.sessions.filter { $0.device == device }
                .map { "\($0.accountID) \($0.value.session) \($0.value.state)" })
        return here.symmetricDifference(there).count
    }
}
