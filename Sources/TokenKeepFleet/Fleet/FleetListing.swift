package import TokenKeepCore
import TokenKeepSession

/// A session on one of the user's devices, as published.
package struct FleetSession: Sendable {
    package let device: String
    package let accountID: String
    package let value: SessionValue
    package let order: Order?

    /// The state of an order to end the session.
    package enum Order: Sendable {
        case waiting(since: Int64)
        case expired

        init(_ order: OrderValue, now: Int64) {
            self = now - order.at > OrderValue.lifetime ? .expired : .waiting(since: order.at)
        }
    }
}

/// A device of the user.
package struct FleetDevice: Sendable {
    package let id: String
    package let value: DeviceValue
    /// The time at which the device was last present, in Unix seconds of the registry's clock; nil if never.
    package let seenAt: Int64?
    /// Whether the device's last sign of life is recent enough, by the fleet's setting `presence`.
    package let isPresent: Bool
    /// The id of the lease of the device's presence; 0 if there is no lease.
    package let lease: Int64
}

/// The registry's entries about a user.
package struct FleetListing: Sendable {
    package var sessions: [FleetSession] = []
    package var devices: [FleetDevice] = []
    /// The results of orders, by id.
    package var results: [String: ResultValue] = [:]
    /// The orders for all devices, by path.
    package var everywhere: [String: EverywhereValue] = [:]
    /// The number of values that cannot be opened, because they were forged, moved or written by a later version.
    package var foreign = 0
    package var revision: Int64 = 0
    package var asOf: Int64 = 0

    package func device(_ id: String) -> FleetDevice? { devices.first { $0.id == id } }
}

extension FleetListing {
    /// Opens the registry's entries about a user. Values that cannot be opened are omitted and counted.
    package init(_ entries: [RegistryEntry], _ paths: FleetPaths, _ key: FleetKey, presence: Int64, now: Int64) {
        asOf = now
        var present: [String: (at: Int64?, lease: Int64)] = [:]
        var orders: [String: OrderValue] = [:]
        var found: [(RegistryEntry, [String])] = []
        for entry in entries {
            guard let parts = paths.parts(of: entry.key) else { continue }
            switch (parts[0], parts.count) {
            case ("present", 2): present[parts[1]] = (opened(PresentValue.self, entry, key)?.at, entry.lease)
            case ("everywhere", 2): everywhere[entry.key] = opened(EverywhereValue.self, entry, key)
            case ("orders", 3): orders[parts[1] + parts[2]] = opened(OrderValue.self, entry, key)
            case ("results", 2): results[parts[1]] = opened(ResultValue.self, entry, key)
            default: found.append((entry, parts))
            }
        }
        for (entry, parts) in found {
            switch (parts[0], parts.count) {
            case ("devices", 2) where FleetPaths.isID(parts[1], digits: 16):
                guard let value = opened(DeviceValue.self, entry, key) else { continue }
                let seen = present[parts[1]]
                devices.append(
                    FleetDevice(
                        id: parts[1], value: value, seenAt: seen?.at,
                        isPresent: seen?.at.map { now - $0 <= presence } ?? false, lease: seen?.lease ?? 0))
            case ("sessions", 3) where FleetPaths.isID(parts[2], digits: 16):
                guard let value = opened(SessionValue.self, entry, key) else { continue }
                let order = orders[parts[2] + key.orderID(device: parts[2], session: value.session)]
                let state = order.map { FleetSession.Order($0, now: now) }
                sessions.append(FleetSession(device: parts[2], accountID: parts[1], value: value, order: state))
            default: continue
            }
        }
        sessions.sort {
            ($0.value.service, $0.value.account, $0.device) < ($1.value.service, $1.value.account, $1.device)
        }
        devices.sort { ($0.value.name, $0.id) < ($1.value.name, $1.id) }
    }

    private mutating func opened<Value: FleetValue>(_: Value.Type, _ entry: RegistryEntry, _ key: FleetKey) -> Value? {
        let value = Value.open(entry, key)
        if value == nil { foreign += 1 }
        return value
    }
}

extension Fleet {
    /// Lists the registry's entries about the user, and caches them for ``cachedListing()``.
    package func listing() throws(TokenKeepError) -> FleetListing {
        let found = try Fleet.reporting { () throws(RegistryFailure) in
            try registry.list(prefix: paths.user, keysOnly: false)
        }
        let now = RegistryClock.now(registry)
        var listing = FleetListing(found.entries, paths, key, presence: file.presence, now: now)
        listing.revision = found.revision
        try? writeCache(found.entries, at: now)
        return listing
    }

    private var cachePath: String { get throws(TokenKeepError) { "\(try FleetState.directory())/\(file.name).cache" } }

    /// Writes the entries to the cache. The values stay sealed.
    private func writeCache(_ entries: [RegistryEntry], at now: Int64) throws(TokenKeepError) {
        let json = try JSONValue.object()
        try json.set("as_of", now)
        let keys = try JSONValue.object()
        for entry in entries { try keys.set(entry.key, Base64.text(entry.value)) }
        try json.set("keys", keys)
        let bytes = try json.serialized().withUnsafeBytes { Array($0) }
        try PrivateFile.write(bytes, to: cachePath)
    }

    /// Reads the last listing from the cache. Sends no request.
    ///
    /// - Throws: ``Status/notFound`` if no listing is cached.
    package func cachedListing() throws(TokenKeepError) -> FleetListing {
        guard let bytes = try PrivateFile.read(cachePath),
            let json = bytes.withUnsafeBytes({ JSONValue(parsing: $0, atMost: 64 << 20) }),
            let asOf = json["as_of"]?.integer, FleetMembers.times.contains(asOf), let keys = json["keys"]
        else {
            throw TokenKeepError(
                .notFound, "there is no earlier list of the fleet", hint: "tokenkeep fleet list makes one")
        }
        let entries = keys.names.compactMap { name -> RegistryEntry? in
            guard let value = keys[name]?.withText({ Base64.bytes($0) }) ?? nil else { return nil }
            return RegistryEntry(key: name, value: value, changedAt: 0)
        }
        return FleetListing(entries, paths, key, presence: file.presence, now: asOf)
    }
}
