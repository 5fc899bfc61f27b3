package import TokenKeepCore
import TokenKeepKeys

/// The administrators' operations on users, rights, devices and orders. They need etcd's root and the fleet's key.
package final class FleetAdmin {
    /// A user of the fleet.
    package struct User: Sendable {
        package let name: String
        package let id: String
        /// The number of devices; nil, like `sessions`, if the user has more keys than can be listed.
        package let devices: Int?
        package let sessions: Int?
        /// Whether the user exceeds the maximum number of devices, or of sessions on one device.
        package let isAboveLimits: Bool
    }

    /// The criteria for the sessions that an order ends. A nil member matches every session.
    package struct Selection: Sendable {
        package var account: String?
        package var provider: String?
        package var issuer: String?
        package var subject: String?
        package var email: String?
        /// The time in Unix seconds before which a session must have begun; nil for any time.
        package var before: Int64?
        package var reason = "administrator"

        package init() {}
    }

    let fleet: Fleet
    let etcd: EtcdRegistry
    let key: FleetKey

    /// Makes the administrators' access to a fleet's registry.
    ///
    /// - Parameter password: the password of etcd's root; nil for a registry without users.
    /// - Throws: ``Status/denied`` if this device lacks the fleet's key.
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

    /// The ids and names of the fleet's users, sorted by name.
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

    /// Seals a user's name and writes it to the registry.
    func saveName(_ name: String, user: String) throws(TokenKeepError) {
        let path = fleet.paths.name(of: key.userID(name))
        let sealed = try NameValue(name: name, user: user).sealed(key.administration(), for: path)
        _ = try Fleet.reporting { () throws(RegistryFailure) in
            try etcd.change([.put(path, sealed, lease: 0)], ifAbsent: [])
        }
    }

    /// The users with their numbers of devices and sessions, and an error that names the users who could not be listed.
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

    /// Lists the registry's entries about a user.
    ///
    /// If the user has more keys than can be listed, adds the user to `unlisted` and returns nil, so that the other
    /// users are still listed.
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

    /// The devices that have been silent for more than `seconds`, and an error that names users who were not listed.
    ///
    /// For a device that was never present, the time since it joined counts.
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

    /// Orders the end of a user's sessions on all devices.
    ///
    /// The orders are durable on return. Repeating the call changes nothing.
    ///
    /// - Parameter name: the user; nil for every user with a session that the selection matches.
    /// - Returns: the number of sessions with an order; if `name` is nil, also an error that names users who were not
    ///   listed.
    /// - Throws: ``Status/notFound`` if there is no such user; ``Status/unavailable`` if the named user cannot be
    ///   listed.
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
        // A user who could not be listed may have a matching session, so "not found" is thrown only if all users were
        // listed.
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
        // The order ends all sessions that began before the event. So the event must not lie in the future, because the
        // order would then also end sessions that begin after the order was given.
        let eventAt = min(selection.before ?? now, now)
        for session in sessions {
            _ = try orders.give(session, reason: selection.reason, at: now, eventAt: eventAt)
        }
        // An order for everywhere also ends unpublished sessions, whose issuer and e-mail are unknown. So no such order
        // is written if the selection names an issuer or an e-mail.
        guard selection.issuer == nil, selection.email == nil else { return }
        let value = EverywhereValue(
            service: "", account: selection.account ?? "", provider: selection.provider ?? "", from: "",
            reason: selection.reason,
            event: selection.before.map { min($0, now) * 1000 } ?? RegistryClock.exactNow(etcd))
        let name = key.accountID(service: "\0\(selection.provider ?? "")", account: selection.account ?? "")
        try orders.giveEverywhere(name, value, isAboutNow: selection.before == nil)
    }
}
