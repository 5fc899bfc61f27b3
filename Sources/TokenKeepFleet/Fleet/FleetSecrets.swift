package import TokenKeepCore
package import TokenKeepEngine
import TokenKeepKeys
import TokenKeepSession

/// A device's secrets for its fleet: keys, etcd's password and the device's id. They are one item of the store, so that
/// they are saved together.
package struct FleetSecrets: Sendable {
    package static let service = "org.tokenkeep.fleet"

    /// The name of the user whose device this is.
    package var person: String
    package var userID: String
    package var device: String
    package var userKey: FleetKey
    /// The fleet's key; nil on every device but the device that created the fleet.
    package var fleetKey: FleetKey?
    package var password: SecretBytes?

    /// Loads the item of a fleet.
    ///
    /// - Throws: ``Status/notFound``, ``Status/locked`` and the store's other errors; ``Status/corrupt`` if the item is
    ///   damaged.
    package static func load(_ fleet: String, from store: Store) throws(TokenKeepError) -> FleetSecrets {
        let item: TokenItem
        do throws(TokenKeepError) {
            item = try store.load(service: service, account: fleet)
        } catch {
            guard error.status == .notFound else { throw error }
            throw TokenKeepError(
                .notFound, "the store has no keys of the fleet \(fleet)",
                hint: "join the fleet again: tokenkeep fleet join")
        }
        return try FleetSecrets(item.secret)
    }

    /// Loads the item of a fleet; nil if there is none.
    ///
    /// - Throws: ``Status/locked`` and the store's other errors; ``Status/corrupt`` if the item is damaged.
    package static func find(_ fleet: String, in store: Store) throws(TokenKeepError) -> FleetSecrets? {
        do throws(TokenKeepError) {
            return try load(fleet, from: store)
        } catch {
            guard error.status == .notFound else { throw error }
            return nil
        }
    }

    private init(_ secret: SecretBytes) throws(TokenKeepError) {
        guard let json = secret.withUnsafeBytes({ JSONValue(parsing: $0) }), let person = json["person"]?.text,
            let userID = json["user_id"]?.text, FleetPaths.isID(userID, digits: 32),
            let device = json["device"]?.text, FleetPaths.isID(device, digits: 16),
            let key = try json["user_key"]?.secret()
        else {
            throw TokenKeepError(.corrupt, "the fleet's item in the store is damaged", hint: "join the fleet again")
        }
        self.person = person
        self.userID = userID
        self.device = device
        userKey = try FleetKey(Hexadecimal.bytes(key))
        fleetKey = nil
        if let key = try json["fleet_key"]?.secret() { fleetKey = try FleetKey(Hexadecimal.bytes(key)) }
        password = try json["password"]?.secret()
    }

    package init(person: String, userID: String, userKey: FleetKey, fleetKey: FleetKey?, password: SecretBytes?) {
        self.person = person
        self.userID = userID
        self.userKey = userKey
        self.fleetKey = fleetKey
        self.password = password
        device = Hexadecimal.text(RandomBytes.make(8))
    }

    /// Saves the item with the level "after first unlock".
    package func save(_ fleet: String, in store: Store) throws(TokenKeepError) {
        let json = try JSONValue.object()
        try json.set("device", device)
        if let fleetKey { try json.set("fleet_key", Hexadecimal.secret(fleetKey.bytes)) }
        if let password { try json.set("password", password) }
        try json.set("person", person)
        try json.set("user_id", userID)
        try json.set("user_key", Hexadecimal.secret(userKey.bytes))
        let name = try ItemName(namespace: store.namespace, service: FleetSecrets.service, account: fleet)
        _ = try store.save(
            SaveRequest(name: name, secret: json.serialized(), accessLevel: .afterFirstUnlock, label: "Fleet \(fleet)"))
    }
}
