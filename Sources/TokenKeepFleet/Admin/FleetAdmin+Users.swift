package import TokenKeepCore
import TokenKeepKeys
import TokenKeepSession

extension FleetAdmin {
    /// The name of etcd's role that may read all keys of the fleet and write none.
    package static let auditor = "tokenkeep-auditor"

    /// Enables etcd's users: root with `rootPassword`, the auditor's role, and a user for this person's devices.
    ///
    /// Existing roles and an existing root are kept. This person's user gets a new password.
    ///
    /// - Returns: this device's secrets and file with its user and password. The caller saves them.
    package func turnUsersOn(
        rootPassword: SecretBytes
    ) throws(TokenKeepError) -> (secrets: FleetSecrets, file: FleetFile) {
        let own = try addUser(fleet.secrets.person)
        try call("/v3/auth/role/add", ["name": FleetAdmin.auditor], passing: "already exists")
        try grant(FleetAdmin.auditor, "READ", FleetPaths.root(of: fleet.file.name))
        let json = try JSONValue.object()
        try json.set("name", "root")
        try json.set("password", rootPassword)
        try call("/v3/auth/user/add", json.serialized(), passing: "already exists")
        try call("/v3/auth/role/add", ["name": "root"], passing: "already exists")
        try call("/v3/auth/user/grant", ["user": "root", "role": "root"], passing: "")
        // If users are already enabled, etcd replies that it wants a user and a password. That is no failure, because
        // an earlier call may have succeeded.
        try call("/v3/auth/enable", [:], passing: "wants a user and a password")
        var (secrets, file) = (fleet.secrets, fleet.file)
        secrets.password = own.password
        file.user = own.user
        return (secrets, file)
    }

    /// Makes a user, or gives an existing user a new password. The user's role covers the user's own prefix only.
    package func addUser(_ name: String) throws(TokenKeepError) -> (user: String, password: SecretBytes) {
        try Limits.check(name, field: "name of the user", atMost: 64)
        let id = key.userID(name)
        // The name for etcd is a hash, so that etcd does not learn the person's name.
        let user = "tokenkeep-\(id.prefix(16))"
        let password = try Hexadecimal.secret(SecretBytes(randomCount: 24))
        try call("/v3/auth/role/add", ["name": user], passing: "already exists")
        try grant(user, "READWRITE", paths(of: id).user)
        let json = try JSONValue.object()
        try json.set("name", user)
        try json.set("password", password)
        let credentials = try json.serialized()
        if try !call("/v3/auth/user/add", credentials, passing: "already exists") {
            try call("/v3/auth/user/changepw", credentials, passing: "")
        }
        try call("/v3/auth/user/grant", ["user": user, "role": user], passing: "")
        try saveName(name, user: user)
        return (user, password)
    }

    /// Makes an invitation for the first device of a user.
    package func invitation(
        for name: String, _ credentials: (user: String, password: SecretBytes), authority: String?, endsAt: Int64
    ) throws(TokenKeepError) -> Invitation {
        Invitation(
            fleet: fleet.file.name, person: name, userID: key.userID(name), userKey: try key.user(name).bytes,
            endpoints: fleet.file.endpoints, authority: authority, user: credentials.user,
            password: credentials.password, presence: fleet.file.presence, endsAt: endsAt)
    }

    /// Removes a user's rights at etcd and all of the user's keys from the registry.
    ///
    /// - Throws: ``Status/notFound`` if there is no such user.
    package func removeUser(_ name: String) throws(TokenKeepError) {
        let id = key.userID(name)
        guard let (_, value) = try names().first(where: { $0.id == id }) else {
            throw TokenKeepError(.notFound, "the fleet has no user \(name)", hint: "see tokenkeep fleet admin list")
        }
        if !value.user.isEmpty {
            try call("/v3/auth/user/delete", ["name": value.user], passing: "not found")
            try call("/v3/auth/role/delete", ["role": value.user], passing: "not found")
        }
        let changes: [RegistryChange] = [.deleteAll(prefix: paths(of: id).user), .delete(fleet.paths.name(of: id))]
        _ = try Fleet.reporting { () throws(RegistryFailure) in try etcd.change(changes, ifAbsent: []) }
    }

    private func grant(_ role: String, _ right: String, _ prefix: String) throws(TokenKeepError) {
        let key = Base64.text(Array(prefix.utf8))
        let end = Base64.text(EtcdWire.end(ofPrefix: prefix))
        let permission = #"{"permType":"\#(right)","key":"\#(key)","range_end":"\#(end)"}"#
        try call("/v3/auth/role/grant", SecretBytes(#"{"name":"\#(role)","perm":\#(permission)}"#), passing: "")
    }

    private func call(_ path: String, _ members: [String: String], passing: String) throws(TokenKeepError) {
        let json = try JSONValue.object()
        for (name, text) in members { try json.set(name, text) }
        try call(path, json.serialized(), passing: passing)
    }

    /// Sends a request to etcd's administration.
    ///
    /// - Parameter passing: the text of an error that is ignored; "" to ignore none.
    /// - Returns: whether the call succeeded; false after an ignored error.
    @discardableResult
    private func call(_ path: String, _ body: SecretBytes, passing: String) throws(TokenKeepError) -> Bool {
        do throws(RegistryFailure) {
            try etcd.administer(path, body)
            return true
        } catch {
            // An error of kind `away` is never ignored: its text may be that of another server, such as "page not
            // found", and contain `passing` by chance.
            guard error.kind != .away, !passing.isEmpty, error.error.message.contains(passing) else {
                throw error.error
            }
            return false
        }
    }
}
