import TokenKeepCore

/// Reads docker's `config.json`: the registries whose passwords or tokens are in the file.
enum DockerConfigurationReader {
    /// The username that docker uses with an identity token.
    private static let tokenUser = "<token>"
    /// The members that contain a secret. docker no longer writes the last member, but still reads it.
    private static let secrets = ["auth", "identitytoken", "password", "registrytoken"]

    static func read(_ bytes: UnsafeRawBufferPointer) throws(TokenKeepError) -> ForeignEntries {
        guard let tree = JSONTree.parse(bytes), case .object(let all, _) = tree.withSmallNames else {
            throw ForeignFormat.foreign("it is no JSON object")
        }
        guard all.count(where: { $0.key == "auths" }) <= 1 else { throw ForeignFormat.foreign("auths is there twice") }
        var found = ForeignEntries()
        let auths = tree.withSmallNames["auths"]
        guard !JSONTree.isNull(auths, in: bytes) else { return found }
        guard case .object(let members, _) = auths else { throw ForeignFormat.foreign("auths is no object") }
        found.listed = members.map { $0.start..<$0.value.range.upperBound }
        for (index, member) in members.enumerated() {
            let place = "registry \(index + 1)"
            guard members.count(where: { $0.key == member.key }) == 1 else {
                found.refuse(place, "the registry is there twice")
                continue
            }
            // Ignore the case of names, because docker ignores it, too.
            let value = member.value.withSmallNames
            if value.hasRepeatedMember {
                found.refuse(place, "a member is there twice")
                continue
            }
            // A registry whose password is in a helper has no secret in this file.
            if case .object = value, !secrets.contains(where: { isFilled(value[$0], bytes) }) { continue }
            let range = found.listed[index]
            found.add(at: place) { () throws(TokenKeepError) in
                try entry(member.key, value, bytes, place, range)
            }
        }
        return found
    }

    /// Whether a member has a value. null and an empty text are no values, as for docker.
    private static func isFilled(_ value: JSONTree?, _ bytes: UnsafeRawBufferPointer) -> Bool {
        if case .string(let range)? = value { return !range.isEmpty }
        return !JSONTree.isNull(value, in: bytes)
    }

    private static func entry(
        _ server: String, _ value: JSONTree, _ bytes: UnsafeRawBufferPointer, _ place: String, _ range: Range<Int>
    ) throws(TokenKeepError) -> ForeignEntry {
        let isAsked = DockerSettingsFile.isAsked(for: server)
        let rest =
            isFilled(value["registrytoken"], bytes)
            ? "the registry token" : isAsked ? nil : "its login: no helper is asked for an address with a path"
        let made = { (user: String, secret: SecretBytes) throws(TokenKeepError) in
            ForeignEntry(
                name: try ItemName(service: "docker:\(server)", account: user), secret: secret, place: place,
                range: range, rest: rest)
        }
        if isFilled(value["identitytoken"], bytes) {
            guard let token = try value["identitytoken"]?.secret(in: bytes) else {
                throw TokenKeepError(.corrupt, "the identity token is no text")
            }
            return try made(tokenUser, token)
        }
        if isFilled(value["auth"], bytes) {
            guard let auth = try value["auth"]?.secret(in: bytes) else { throw malformed }
            let pair = try auth.withUnsafeBytes { bytes throws(TokenKeepError) in
                try ForeignText.base64(bytes, count: bytes.count)
            }
            return try pair.withUnsafeBytes { pair throws(TokenKeepError) in
                guard let colon = pair.firstIndex(of: UInt8(ascii: ":")), let user = ForeignText.text(pair[..<colon])
                else { throw malformed }
                return try made(user, ForeignText.secret(pair[(colon + 1)...]))
            }
        }
        guard let user = value["username"]?.text(in: bytes), let password = try value["password"]?.secret(in: bytes)
        else { throw TokenKeepError(.corrupt, "it has no username with a password") }
        return try made(user, password)
    }

    private static let malformed = TokenKeepError(.corrupt, "auth is no base64 of a username and a password")
}

/// Reads the logins of an unencrypted JSON export of Bitwarden.
enum BitwardenReader {
    static func read(_ bytes: UnsafeRawBufferPointer) throws(TokenKeepError) -> ForeignEntries {
        let tree = JSONTree.parse(bytes)
        // Refuse an export that is encrypted for its account: it has a list of items, too, but the texts in the list
        // are ciphertexts.
        guard tree?.hasRepeatedMember != true else { throw ForeignFormat.foreign("a member is there twice") }
        guard tree?["encrypted"].flatMap({ word($0, bytes) }) != "true" else {
            throw ForeignFormat.foreign("it is encrypted; export it without a password")
        }
        guard let items = tree?["items"]?.elements else { throw ForeignFormat.foreign("it has no list of items") }
        var found = ForeignEntries()
        found.listed = items.map(\.range)
        for (index, item) in items.enumerated() {
            let place = "item \(index + 1)"
            guard let login = item["login"], case .object = login else {
                found.refuse(place, item.hasRepeatedMember ? "a member is there twice" : "this is no login")
                continue
            }
            let uri = login["uris"]?.elements?.first
            guard !item.hasRepeatedMember, !login.hasRepeatedMember, uri?.hasRepeatedMember != true else {
                found.refuse(place, "a member is there twice")
                continue
            }
            found.add(at: place) { () throws(TokenKeepError) in
                guard let service = item["name"]?.text(in: bytes) else {
                    throw TokenKeepError(.corrupt, "the login has no name")
                }
                guard let secret = try login["password"]?.secret(in: bytes) else {
                    throw TokenKeepError(.corrupt, "the login has no password")
                }
                return ForeignEntry(
                    name: try ItemName(service: service, account: try account(of: login, bytes)),
                    secret: secret, place: place, range: item.range,
                    address: uri?["uri"]?.text(in: bytes), rest: rest(of: item, login, bytes)
                )
            }
        }
        return found
    }

    /// Returns the username of a login; "" if the login has no username.
    private static func account(
        of login: JSONTree, _ bytes: UnsafeRawBufferPointer
    ) throws(TokenKeepError) -> String {
        guard let username = login["username"], word(username, bytes) != "null" else { return "" }
        guard let text = username.text(in: bytes) else {
            throw TokenKeepError(.corrupt, "the login's username is no text")
        }
        return text
    }

    /// Returns the name of the first part of a login that an item cannot contain, for example notes; nil if there is no
    /// such part.
    private static func rest(of item: JSONTree, _ login: JSONTree, _ bytes: UnsafeRawBufferPointer) -> String? {
        let parts = [
            ("notes", item["notes"]), ("fields", item["fields"]), ("old passwords", item["passwordHistory"]),
            ("the TOTP", login["totp"]), ("passkeys", login["fido2Credentials"]),
        ]
        if let part = parts.first(where: { isFilled($0.1, bytes) }) { return part.0 }
        return login["uris"]?.elements.map { $0.count > 1 } == true ? "more addresses" : nil
    }

    private static func isFilled(_ value: JSONTree?, _ bytes: UnsafeRawBufferPointer) -> Bool {
        switch value {
        case nil: false
        case .string(let range): !range.isEmpty
        case .array(let elements, _): !elements.isEmpty
        case .object(let members, _): !members.isEmpty
        case .other(let range): !bytes[range].elementsEqual("null".utf8)
        }
    }

    private static func word(_ value: JSONTree, _ bytes: UnsafeRawBufferPointer) -> String? {
        ForeignText.text(bytes[value.range])
    }
}
