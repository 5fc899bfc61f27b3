import CSodium
import CSystemShims
package import TokenKeepCore

/// The devices on which a session is to be ended.
package enum OrderScope: Sendable {
    case device(String)
    case others
    case everywhere
}

/// An order that was written durably to the registry.
package struct GivenOrder: Sendable {
    package let id: String
    package let device: String
    package let deviceName: String
    package let provider: String?
}

extension Fleet {
    /// The account's sessions on other devices that an order ends, and whether the order's scope includes this device.
    ///
    /// - Throws: ``Status/notFound`` if there is no such session or device; ``Status/invalid`` if several devices have
    ///   the name.
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

    /// The id of the device that has this name or id.
    package func deviceID(_ name: String, in listing: FleetListing) throws(TokenKeepError) -> String {
        let found = listing.devices.filter { $0.id == name || $0.value.name == name }
        guard let device = found.first else {
            // The device's entry may have been removed while its sessions are still in the registry.
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

    /// Writes orders that end sessions on other devices. The orders are durable on return.
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

    /// Orders the end of the account's sessions that began before now, also of sessions that were not published.
    package func orderEverywhere(_ service: String, _ account: String, reason: String) throws(TokenKeepError) {
        let value = EverywhereValue(
            service: service, account: account, provider: "", from: device, reason: reason,
            event: RegistryClock.exactNow(registry))
        try FleetOrders(registry, paths, key, from: device)
            .giveEverywhere(key.accountID(service: service, account: account), value, isAboutNow: true)
    }

    /// Waits until all orders have results or the deadline passes. Returns the results by the orders' ids.
    ///
    /// - Parameter progress: called with the number of orders without a result whenever that number changes.
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
            // A server may refuse every watch at once, so this loop pauses between two attempts, longer each time.
            let pause = min(backoff.pause(random: randombytes_uniform(1000)), deadline.remainingMilliseconds)
            _ = tokenkeep_wait_readable(-1, -1, pause)
        }
    }

    /// Waits for a change of the results until the deadline. Returns false if the watch ended first.
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

/// Writes orders for a user's devices, given by another device or by an administrator.
struct FleetOrders {
    private static let attempts = 8

    private let registry: any Registry
    private let paths: FleetPaths
    private let key: FleetKey
    private let from: String

    init(_ registry: any Registry, _ paths: FleetPaths, _ key: FleetKey, from: String) {
        (self.registry, self.paths, self.key, self.from) = (registry, paths, key, from)
    }

    /// Writes an order, unless an equal order that can still be obeyed is present. Returns the order's id.
    func give(_ session: FleetSession, reason: String, at now: Int64, eventAt: Int64) throws(TokenKeepError) -> String {
        let (device, name) = (session.device, session.value.session)
        let id = key.orderID(device: device, session: name)
        let value = OrderValue(
            session: name, service: session.value.service, account: session.value.account, from: from,
            reason: reason, at: now, eventAt: eventAt)
        // Remove the result of an earlier order with the same id, because it would be mistaken for the result of this
        // order.
        try put(value, at: paths.order(device, id), answeredAt: paths.result(id)) { present in
            // Clocks differ between servers, so a device may reject an order before the end of its lifetime. So an
            // order that is older than half its lifetime is replaced.
            present.session == name && now - present.at <= OrderValue.lifetime / 2
        }
        return id
    }

    /// Writes an order for everywhere, unless an order for the same event or a later event is present.
    ///
    /// - Parameter isAboutNow: whether the event is this order itself. The event is then set later than that of an
    ///   order that was present when the call began. An order written during the call, for example by a repeated
    ///   request, counts as this order.
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

    /// Writes an order and removes its older result, unless `willDo` accepts the present order.
    ///
    /// Any other value at the path, for example a value that cannot be opened, is replaced. A request may be sent
    /// twice. If a device obeyed the order in between, the result has changed, and the order is not written again.
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
