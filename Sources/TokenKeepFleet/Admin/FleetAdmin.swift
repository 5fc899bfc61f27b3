package import TokenKeepCore
import TokenKeepKeys

/// The administrators' operations, as etcd's root and with the fleet's key: users, their rights, devices and orders.
package final class FleetAdmin {
    /// A user of the fleet.
    package struct User: Sendable {
        package let name: String
        package let id: String
        /// The number of devices; nil, like `sessions`, for a user who has more than can be listed.
        package let devices: Int?
        package let sessions: Int?
        /// Whether the user has more than a user may have.
        package let isAboveLimits: Bool
    }

    /// Which sessions an order is for.
    package struct Selection: Sendable {
        package var account: String?
        package var provider: String?
        package var issuer: String?
        package var subject: String?
        package var email: String?
        /// Sessions that began before; all for nil.
        package var before: Int64?
        package var reason = "administrator"

        package init() {}
    }

    let fleet: Fleet
    let etcd: EtcdRegistry
    let key: FleetKey

    /// - Parameter password: that of etcd's root; nil for a registry without users.
    /// - Throws: ``Status/denied`` if this device has not the fleet's key.
    package init(_ fleet: Fleet, password: SecretBytes?) throws(TokenKeepError) {
        guard let key = fleet.secrets.fleetKey else {
            throw TokenKeepError(
                .denied, "this device has not the key of the fleet \(fleet.file.name)",
                hint: "administer it on the device that began it: tokenkeep fleet init")
        }
        var settings = try Fleet.settings(fleet.file, fleet.secrets)
        (settings.user, settings.password) = password == nil ? (nil, nil) : ("root", password)
        self.fleet = fleet
        self.key = key
        etcd = try EtcdRegistry(settings, isAdmin: true)
    }

    package func paths(of userID: String) -> FleetPaths { FleetPaths(fleet: fleet.file.name, userID: userID) }

    package func version() throws(TokenKeepError) -> String {
        try Fleet.reporting { () throws(RegistryFailure) in try etcd.version() }
    }

    // MARK: Users

    /// The users of the fleet by name, without what they have.
    package func names() throws(TokenKeepError) -> [(id: String, value: NameValue)] {
        let listing = try Fleet.reporting { () throws(RegistryFailure) in
            try etcd.list(prefix: fleet.paths.names, keysOnly: false)
        }
        let administration = try key.administration()
        let users = listing.entries.compactMap { entry in
            NameValue.open(entry, administration).map {
                (String(decoding: entry.key.utf8.dropFirst(fleet.paths.names.utf8.count), as: UTF8.self), $0)
            }
        }
        return users.sorted { $0.1.name < $1.1.name }
    }

    /// Saves the name of a user of the fleet.
    func saveName(_ name: String, user: String) throws(TokenKeepError) {
        let path = fleet.paths.name(of: key.userID(name))
        let sealed = try NameValue(name: name, user: user).sealed(key.administration(), for: path)
        _ = try Fleet.reporting { () throws(RegistryFailure) in
            try etcd.change([.put(path, sealed, lease: 0)], ifAbsent: [])
        }
    }

    /// The users, and why some could not be listed.
    package func users() throws(TokenKeepError) -> (users: [User], problem: TokenKeepError?) {
        var unlisted = UnlistedUsers()
        let users = try names().map { id, value throws(TokenKeepError) in
            guard let listing = try self.listing(of: value.name, id, &unlisted) else {
                return User(name: value.name, id: id, devices: nil, sessions: nil, isAboveLimits: true)
            }
            let most = Dictionary(grouping: listing.sessions, by: \.device).values.map(\.count).max() ?? 0
            let isAbove = listing.devices.count > Fleet.mostDevices || most > Fleet.mostSessions
            return User(
                name: value.name, id: id, devices: listing.devices.count, sessions: listing.sessions.count,
                isAboveLimits: isAbove)
        }
        return (users, unlisted.problem)
    }

    /// The registry's entries about a user.
    package func listing(of name: String, _ id: String) throws(TokenKeepError) -> FleetListing {
        let found = try Fleet.reporting { () throws(RegistryFailure) in try entries(of: id) }
        return try listing(found, name, id)
    }

    /// The registry's entries about a user. nil for a user who has more than can be listed: that user is noted, and keeps
    /// nothing from the other users.
    private func listing(
        of name: String, _ id: String, _ unlisted: inout UnlistedUsers
    ) throws(TokenKeepError) -> FleetListing? {
        let found: [RegistryEntry]
        do throws(RegistryFailure) {
            found = try entries(of: id)
        } catch {
            guard error.kind == .tooLong else { throw error.error }
            unlisted.add(name, prefix: paths(of: id).user)
            return nil
        }
        return try listing(found, name, id)
    }

    private func entries(of id: String) throws(RegistryFailure) -> [RegistryEntry] {
        try etcd.list(prefix: paths(of: id).user, keysOnly: false).entries
    }

    private func listing(_ found: [RegistryEntry], _ name: String, _ id: String) throws(TokenKeepError) -> FleetListing
    {
        FleetListing(
            found, paths(of: id), try key.user(name), presence: fleet.file.presence, now: RegistryClock.now(etcd))
    }

    // MARK: Devices

    /// The devices that were last seen so many seconds ago, or never and joined so long ago; and why some could not be
    /// listed.
    package func old(olderThan seconds: Int64) throws(TokenKeepError) -> (
        devices: [(user: String, id: String, device: FleetDevice)], problem: TokenKeepError?
    ) {
        var unlisted = UnlistedUsers()
        let now = RegistryClock.now(etcd)
        var found: [(String, String, FleetDevice)] = []
        for (id, value) in try names() {
            for device in try listing(of: value.name, id, &unlisted)?.devices ?? []
            where now - (device.seenAt ?? device.value.joined) > seconds {
                found.append((value.name, id, device))
            }
        }
        return (found, unlisted.problem)
    }

    /// Removes a device of a user from the registry.
    package func remove(_ device: String, of userID: String) throws(TokenKeepError) {
        let paths = paths(of: userID)
        let listing = try Fleet.reporting { () throws(RegistryFailure) in
            try etcd.list(prefix: paths.sessions, keysOnly: true)
        }
        var changes: [RegistryChange] = [
            .delete(paths.device(device)), .delete(paths.present(device)), .deleteAll(prefix: paths.orders(of: device)),
        ]
        changes += listing.entries.map(\.key).filter { $0.hasSuffix("/\(device)") }.prefix(100).map { .delete($0) }
        let all = changes
        _ = try Fleet.reporting { () throws(RegistryFailure) in try etcd.change(all, ifAbsent: []) }
    }

    // MARK: Orders

    /// Orders the end of a user's sessions on all devices. The orders are durable on return. Giving them again changes
    /// nothing.
    ///
    /// - Parameter name: nil for the users who have a session of the selection's person.
    /// - Returns: the number of sessions that have an order; and, without a name, why some users could not be listed.
    /// - Throws: ``Status/notFound`` if there is no such user; ``Status/unavailable`` if the named user cannot be listed.
    package func signOut(
        _ name: String?, _ selection: Selection
    ) throws(TokenKeepError) -> (count: Int, problem: TokenKeepError?) {
        let known = try names().filter { name == nil || $0.value.name == name }
        guard !known.isEmpty else { throw FleetAdmin.unknown(name) }
        var (count, isFound) = (0, name != nil)
        var unlisted = UnlistedUsers()
        for (id, value) in known {
            let userKey = try key.user(value.name)
            guard let listed = try listing(of: value.name, id, &unlisted) else { continue }
            let sessions = listed.sessions.filter { isMeant($0.value, selection, userKey) }
            guard !sessions.isEmpty || name != nil else { continue }
            isFound = true
            try order(sessions, id, userKey, selection)
            count += sessions.count
        }
        let problem = unlisted.problem
        if let problem, name != nil { throw problem }
        // A user who could not be listed may have such a session.
        guard isFound || problem != nil else { throw FleetAdmin.unknown(name) }
        return (count, problem)
    }

    private static func unknown(_ name: String?) -> TokenKeepError {
        TokenKeepError(
            .notFound,
            name.map { "the fleet has no user \($0)" } ?? "no user of the fleet has a session of this person",
            hint: "see tokenkeep fleet admin list")
    }

    private func isMeant(_ value: SessionValue, _ selection: Selection, _ key: FleetKey) -> Bool {
        if let account = selection.account, value.account != account { return false }
        if let provider = selection.provider, value.provider != provider { return false }
        if let issuer = selection.issuer, let subject = selection.subject,
            value.subject != key.subjectHash(issuer: issuer, subject: subject)
        {
            return false
        }
        if let email = selection.email, value.email != key.emailHash(email) { return false }
        guard let before = selection.before, let began = value.signedInAt else { return true }
        return began < before
    }

    private func order(
        _ sessions: [FleetSession], _ userID: String, _ key: FleetKey, _ selection: Selection
    ) throws(TokenKeepError) {
        let orders = FleetOrders(etcd, paths(of: userID), key, from: "")
        let now = RegistryClock.now(etcd)
        // An event that is to come would end sessions that begin after the order.
        let eventAt = min(selection.before ?? now, now)
        for session in sessions {
            _ = try orders.give(session, reason: selection.reason, at: now, eventAt: eventAt)
        }
        // Sessions that no device has published yet have no person that could be compared.
        guard selection.issuer == nil, selection.email == nil else { return }
        let value = EverywhereValue(
            service: "", account: selection.account ?? "", provider: selection.provider ?? "", from: "",
            reason: selection.reason,
            event: selection.before.map { min($0, now) * 1000 } ?? RegistryClock.exactNow(etcd))
        let name = key.accountID(service: "\0\(selection.provider ?? "")", account: selection.account ?? "")
        try orders.giveEverywhere(name, value, isAboutNow: selection.before == nil)
    }
}
