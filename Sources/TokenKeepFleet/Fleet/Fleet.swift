package import TokenKeepCore
package import TokenKeepEngine
import TokenKeepKeys

/// A fleet that this device belongs to, with its file, its keys and its registry.
package final class Fleet {
    package static let mostDevices = 256
    package static let mostSessions = 64

    package let file: FleetFile
    package let secrets: FleetSecrets
    package let paths: FleetPaths
    package let registry: any Registry
    package let store: Store

    /// Opens a fleet, or the device's only fleet if `name` is nil. Sends no request.
    ///
    /// - Throws: the errors of the file and the store; ``Status/unsupported`` if libcurl is missing.
    package convenience init(_ name: String?, _ store: Store) throws(TokenKeepError) {
        let file = try FleetFile.read(name)
        let secrets = try FleetSecrets.load(file.name, from: store)
        try self.init(file, secrets, store, EtcdRegistry(Fleet.settings(file, secrets)))
    }

    package init(
        _ file: FleetFile, _ secrets: FleetSecrets, _ store: Store, _ registry: any Registry
    ) throws(TokenKeepError) {
        (self.file, self.secrets, self.store, self.registry) = (file, secrets, store, registry)
        paths = FleetPaths(fleet: file.name, userID: secrets.userID)
    }

    package static func settings(_ file: FleetFile, _ secrets: FleetSecrets) throws(TokenKeepError) -> EtcdSettings {
        var settings = try EtcdSettings(endpoints: file.endpoints)
        (settings.caFile, settings.certificateFile, settings.keyFile) = (
            file.caFile, file.certificateFile, file.keyFile
        )
        (settings.user, settings.password) = (file.user, secrets.password)
        return settings
    }

    var key: FleetKey { secrets.userKey }
    package var device: String { secrets.device }

    /// Runs `body`, and converts a failure to the error that is shown to people.
    package static func reporting<Value>(
        _ body: () throws(RegistryFailure) -> Value
    ) throws(TokenKeepError) -> Value {
        do throws(RegistryFailure) {
            return try body()
        } catch {
            throw error.error
        }
    }

    /// Writes this device's entry with a name to the registry.
    ///
    /// - Throws: ``Status/policy`` if the user has 256 devices; ``Status/duplicate`` if another device has the name.
    package func enter(name: String, system: String) throws(TokenKeepError) {
        try Limits.check(name, field: "name of the device", atMost: 64)
        let listing = try Fleet.reporting { () throws(RegistryFailure) in
            try registry.list(prefix: paths.devices, keysOnly: false)
        }
        let path = paths.device(device)
        guard listing.entries.count < Fleet.mostDevices || listing.entries.contains(where: { $0.key == path }) else {
            throw TokenKeepError(
                .policy, "the user has \(Fleet.mostDevices) devices already",
                hint: "remove one: tokenkeep fleet leave --device ID")
        }
        var joined = RegistryClock.now(registry)
        for entry in listing.entries {
            guard let other = DeviceValue.open(entry, key) else { continue }
            if entry.key == path { joined = other.joined }
            guard entry.key == path || other.name != name else {
                throw TokenKeepError(
                    .duplicate, "another device has the name \(name)", hint: "choose another: --name NAME")
            }
        }
        let value = DeviceValue(name: name, system: system, version: TokenKeepVersion.string, joined: joined)
        let sealed = try value.sealed(key, for: path)
        _ = try Fleet.reporting { () throws(RegistryFailure) in
            try registry.change([.put(path, sealed, lease: 0)], ifAbsent: [])
        }
    }

    /// Removes all keys of a device from the registry. Also removes its orders, which no device would obey any more.
    package func remove(device: String) throws(TokenKeepError) {
        let listing = try Fleet.reporting { () throws(RegistryFailure) in
            try registry.list(prefix: paths.sessions, keysOnly: true)
        }
        var changes: [RegistryChange] = [
            .delete(paths.device(device)), .delete(paths.present(device)), .deleteAll(prefix: paths.orders(of: device)),
        ]
        changes += listing.entries.map(\.key).filter { $0.hasSuffix("/\(device)") }.map { .delete($0) }
        for start in stride(from: 0, to: changes.count, by: 100) {
            let part = Array(changes[start..<min(start + 100, changes.count)])
            _ = try Fleet.reporting { () throws(RegistryFailure) in try registry.change(part, ifAbsent: []) }
        }
    }

    /// Removes the fleet from this device: its file, its item in the store and its state.
    package func forget() throws(TokenKeepError) { try Fleet.forget(file.name, store) }

    /// Removes a fleet from this device. Its file, item or state may be missing.
    package static func forget(_ name: String, _ store: Store) throws(TokenKeepError) {
        try FleetFile(name: name).remove()
        FleetFiles.remove(name)
        do throws(TokenKeepError) {
            try store.clear(service: FleetSecrets.service, account: name)
        } catch {
            guard error.status == .notFound else { throw error }
        }
    }

    /// Makes an invitation for another device of the same user.
    ///
    /// - Parameter authority: the text of the authority's file; nil for the system's authorities.
    package func invitation(authority: String?, endsAt: Int64) -> Invitation {
        Invitation(
            fleet: file.name, person: secrets.person, userID: secrets.userID, userKey: key.bytes,
            endpoints: file.endpoints, authority: authority, user: file.user, password: secrets.password,
            presence: file.presence, endsAt: endsAt)
    }
}
