import CSodium
import CSystemShims
package import TokenKeepCore

/// The devices on which a session is to be ended.
package enum OrderScope: Sendable {
    case device(String)
    case others
    case everywhere
}

/// An order that is durable.
package struct GivenOrder: Sendable {
    package let id: String
    package let device: String
    package let deviceName: String
    package let provider: String?
}

extension Fleet {
    /// The sessions of an account that an order of this scope ends on other devices, and whether it ends one here.
    ///
    /// - Throws: ``Status/notFound`` if no device has such a session, or there is no such device; ``Status/invalid`` if
    ///   several devices have the name.
    package func targets(
        _ service: String, _ account: String, _ scope: OrderScope, in listing: FleetListing
    ) throws(TokenKeepError) -> (others: [FleetSession], isHere: Bool) {
        var sessions = listing.sessions.filter { $0.value.service == service && $0.value.account == account }
        switch scope {
        case .device(let name):
            let id = try deviceID(name, in: listing)
            sessions = sessions.filter { $0.device == id }
        case .others: sessions = sessions.filter { $0.device != device }
        case .everywhere: return (sessions.filter { $0.device != device }, true)
        }
        guard !sessions.isEmpty else {
            throw TokenKeepError(
                .notFound, "no such device is signed in to \(service) as \(account)", hint: "see tokenkeep fleet list")
        }
        return (sessions.filter { $0.device != device }, sessions.contains { $0.device == device })
    }

    /// The id of the device with a name or an id.
    package func deviceID(_ name: String, in listing: FleetListing) throws(TokenKeepError) -> String {
        let found = listing.devices.filter { $0.id == name || $0.value.name == name }
        guard let device = found.first else {
            // Its entry may be gone, and its sessions are there.
            if listing.sessions.contains(where: { $0.device == name }) { return name }
            throw TokenKeepError(.notFound, "there is no device \(name)", hint: "see tokenkeep fleet status")
        }
        guard found.count == 1 else {
            throw TokenKeepError(
                .invalid, "several devices have the name \(name)",
                hint: "name one by its id: \(found.map(\.id).joined(separator: ", "))")
        }
        return device.id
    }

    /// Gives the orders that end sessions on other devices. They are durable on return.
    package func order(
        _ sessions: [FleetSession], reason: String, in listing: FleetListing
    ) throws(TokenKeepError) -> [GivenOrder] {
        let orders = FleetOrders(registry, paths, key, from: device)
        let now = RegistryClock.now(registry)
        return try sessions.map { session throws(TokenKeepError) in
            let id = try orders.give(session, reason: reason, at: now, eventAt: now)
            let name = listing.device(session.device)?.value.name ?? session.device
            return GivenOrder(id: id, device: session.device, deviceName: name, provider: session.value.provider)
        }
    }

    /// Ends the account's sessions that began before now, also on devices that have not published them.
    package func orderEverywhere(_ service: String, _ account: String, reason: String) throws(TokenKeepError) {
        let value = EverywhereValue(
            service: service, account: account, provider: "", from: device, reason: reason,
            event: RegistryClock.exactNow(registry))
        try FleetOrders(registry, paths, key, from: device)
            .giveEverywhere(key.accountID(service: service, account: account), value, isAboutNow: true)
    }

    /// Waits until devices have obeyed orders, or for so long. Returns the results, by id.
    ///
    /// - Parameter progress: gets the number of orders without a result whenever it changes.
    package func results(
        of orders: [GivenOrder], until deadline: Deadline, _ progress: (Int) -> Void
    ) throws(TokenKeepError) -> [String: ResultValue] {
        var results: [String: ResultValue] = [:]
        var left = orders.count + 1
        var backoff = Backoff()
        while true {
            let listing = try Fleet.reporting { () throws(RegistryFailure) in
                try registry.list(prefix: paths.results, keysOnly: false)
            }
            for order in orders {
                guard let entry = listing.entries.first(where: { $0.key == paths.result(order.id) }) else { continue }
                results[order.id] = ResultValue.open(entry, key)
            }
            if results.count < left, results.count < orders.count { progress(orders.count - results.count) }
            left = results.count
            guard results.count < orders.count, !deadline.hasPassed else { return results }
            guard try !wait(after: listing.revision, until: deadline) else { continue }
            // A watch that is refused at once is asked for less and less often.
            let pause = min(backoff.pause(random: randombytes_uniform(1000)), deadline.remainingMilliseconds)
            _ = tokenkeep_wait_readable(-1, -1, pause)
        }
    }

    /// Waits for results. Returns false if the watch has ended before.
    private func wait(after revision: Int64, until deadline: Deadline) throws(TokenKeepError) -> Bool {
        let watch = try Fleet.reporting { () throws(RegistryFailure) in
            try registry.watch(prefixes: [paths.results], from: revision)
        }
        while !deadline.hasPassed {
            switch watch.next(within: min(deadline.remainingMilliseconds, 5000), or: -1, -1) {
            case .nothing: continue
            case .changed: return true
            case .ended: return false
            }
        }
        return true
    }
}

/// Writes orders for the devices of a user: for another device, or an administrator.
struct FleetOrders {
    private static let attempts = 8

    private let registry: any Registry
    private let paths: FleetPaths
    private let key: FleetKey
    private let from: String

    init(_ registry: any Registry, _ paths: FleetPaths, _ key: FleetKey, from: String) {
        (self.registry, self.paths, self.key, self.from) = (registry, paths, key, from)
    }

    /// Writes an order, unless the same one is there and can be obeyed. Returns its id.
    func give(_ session: FleetSession, reason: String, at now: Int64, eventAt: Int64) throws(TokenKeepError) -> String {
        let (device, name) = (session.device, session.value.session)
        let id = key.orderID(device: device, session: name)
        let value = OrderValue(
            session: name, service: session.value.service, account: session.value.account, from: from,
            reason: reason, at: now, eventAt: eventAt)
        // The result of an order that the device could not obey would pass for that of this order, and is taken away.
        try put(value, at: paths.order(device, id), answeredAt: paths.result(id)) { present in
            // Time runs differently for each server: what a device may call too old by now is written anew.
            present.session == name && now - present.at <= OrderValue.lifetime / 2
        }
        return id
    }

    /// Writes an order for everywhere, unless an order for the same or a later event is there.
    ///
    /// - Parameter isAboutNow: whether the event is the giving of this order. Then the event is set behind that of an order
    ///   that was there at the beginning of the call. An order written during the call, also by a repeated request, will do.
    func giveEverywhere(_ account: String, _ value: EverywhereValue, isAboutNow: Bool) throws(TokenKeepError) {
        let path = paths.everywhere(account)
        var value = value
        for attempt in 0..<FleetOrders.attempts {
            let found = try entry(path)
            let present = found.flatMap { EverywhereValue.open($0, key) }
            if isAboutNow, attempt == 0 { value.event = OrderRules.event(now: value.event, after: present) }
            if let present, present.event >= value.event { return }
            if try change([.put(path, value.sealed(key, for: path), lease: 0)], [path: found?.changedAt ?? 0]) {
                return
            }
        }
        throw FleetOrders.contended
    }

    /// Writes an order, and takes an older result of it away, unless a value is there that will do. Anything else that stands
    /// in its place, such as a value that does not open, is replaced.
    ///
    /// A request may be sent twice, and the order may have been obeyed in between: the result has changed then.
    private func put(
        _ value: OrderValue, at path: String, answeredAt result: String, unless willDo: (OrderValue) -> Bool
    ) throws(TokenKeepError) {
        let changes: [RegistryChange] = [.put(path, try value.sealed(key, for: path), lease: 0), .delete(result)]
        var before: Int64?
        for _ in 0..<FleetOrders.attempts {
            let present = try entry(path)
            if let present, let present = OrderValue.open(present, key), willDo(present) { return }
            let answer = try entry(result)
            if let answer, answer.changedAt > before ?? .max, isObeyed(answer) { return }
            before = before ?? answer?.changedAt ?? 0
            if try change(changes, [path: present?.changedAt ?? 0, result: answer?.changedAt ?? 0]) { return }
        }
        throw FleetOrders.contended
    }

    private static var contended: TokenKeepError {
        TokenKeepError(
            .busy, "the order was not written: others change it all the time", module: "registry",
            hint: "try again later")
    }

    private func change(_ changes: [RegistryChange], _ revisions: [String: Int64]) throws(TokenKeepError) -> Bool {
        try Fleet.reporting { () throws(RegistryFailure) in try registry.change(changes, ifUnchanged: revisions) }
    }

    private func entry(_ path: String) throws(TokenKeepError) -> RegistryEntry? {
        let listing = try Fleet.reporting { () throws(RegistryFailure) in
            try registry.list(prefix: path, keysOnly: false)
        }
        return listing.entries.first { $0.key == path }
    }

    private func isObeyed(_ answer: RegistryEntry) -> Bool {
        ResultValue.open(answer, key).map { $0.outcome != .expired } ?? false
    }
}
