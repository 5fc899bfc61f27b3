import TokenKeepCore

/// An item that a tool's helper stored in a keyring, under the name by which TokenKeep's helper of this tool looks the
/// item up.
struct ToolItem {
    /// The tool whose helper stored the item.
    enum Tool {
        /// git's helper for libsecret: further lines of the secret are values of git's protocol.
        case gitLibsecret
        /// Git Credential Manager.
        case gitManager
        case docker
        case cargo
    }

    let tool: Tool
    let name: ItemName

    /// The parts of an item that the import saves.
    struct Value {
        let secret: SecretBytes
        var attributes = ItemAttributes.none
        var expiresAt: UnixTime?
        /// Whether the stored secret has lines that the saved item does not have.
        var hasRest = false
    }

    /// Recognises an item by its schema and attributes; nil if no tool's helper stored the item.
    init?(_ item: ForeignItem) {
        guard let (tool, service, account) = ToolItem.parts(of: item),
            let name = try? ItemName(service: service, account: account)
        else { return nil }
        (self.tool, self.name) = (tool, name)
    }

    private static func parts(of item: ForeignItem) -> (Tool, service: String, account: String)? {
        let attributes = item.attributes
        switch attributes["xdg:schema"] {
        case "org.git.Password": return git(attributes)
        // git before 2.42 used the schema of all network passwords, and this label.
        case "org.gnome.keyring.NetworkPassword" where item.label.hasPrefix("Git: "): return git(attributes)
        case "com.microsoft.GitCredentialManager":
            guard let service = attributes["service"], isHost(service) else { return nil }
            return (.gitManager, service, attributes["account"] ?? "")
        case "io.docker.Credentials":
            guard let server = attributes["server"], let username = attributes["username"] else { return nil }
            return (.docker, "docker:\(server)", username)
        case "org.rust-lang.cargo.registry": return attributes["url"].map { (.cargo, "cargo:\($0)", "") }
        default: return nil
        }
    }

    /// Whether a service of Git Credential Manager's is `git:PROTOCOL://HOST[:PORT]`. With a path, the item is a refresh
    /// token, or its path is not encoded as git's: git-credential-tokenkeep would not look it up.
    private static func isHost(_ service: String) -> Bool {
        guard service.hasPrefix("git:"), let end = service.firstRange(of: "://") else { return false }
        let host = service[end.upperBound...]
        return !host.isEmpty && !host.utf8.contains(where: notInHost.contains)
    }

    private static let notInHost = "/?#@\\ ".utf8

    /// The name of git's item, as git-credential-tokenkeep makes it from git's request.
    private static func git(_ attributes: [String: String]) -> (Tool, service: String, account: String)? {
        guard let scheme = attributes["protocol"], !scheme.isEmpty, let account = attributes["user"] else { return nil }
        let path = attributes["object"] ?? ""
        var host = attributes["server"] ?? ""
        // The helper takes the last colon of an IPv6 address for that of a port, and loses what follows.
        guard !(host.isEmpty && path.isEmpty), !host.hasPrefix("[") || host.hasSuffix("]"),
            !host.utf8.contains(where: notInHost.contains)
        else { return nil }
        if let port = attributes["port"], port != "0" { host += ":\(port)" }
        let end = path.isEmpty ? "" : path.hasPrefix("/") ? path : "/\(path)"
        return (.gitLibsecret, "git:\(scheme)://\(host)\(end)", account)
    }

    /// The address of the item's host if git asks for the item only with `credential.ADDRESS.useHttpPath`; otherwise nil.
    var hostThatNeedsPath: String? {
        guard tool == .gitLibsecret, name.service.hasPrefix("git:http") else { return nil }
        let address = name.service.dropFirst("git:".count)
        guard let host = address.firstRange(of: "://")?.upperBound, let end = address[host...].firstIndex(of: "/")
        else {
            return nil
        }
        return String(address[..<end])
    }

    /// Whether an item of the vault has everything that the import would save.
    func isSaved(_ value: Value, in item: TokenItem) -> Bool {
        item.secret == value.secret && (value.expiresAt ?? item.details.expiresAt) == item.details.expiresAt
            && value.attributes.pairs.allSatisfy { pair in item.details.attributes.pairs.contains { $0 == pair } }
    }

    /// Converts the secret that the tool stored.
    ///
    /// - Throws: ``Status/invalid`` if the tool's protocol cannot carry the secret.
    func value(of stored: SecretBytes) throws(TokenKeepError) -> Value {
        switch tool {
        case .gitLibsecret: return try gitValue(of: stored)
        case .gitManager, .cargo:
            try ToolItem.checkOneLine(stored)
            return Value(secret: stored)
        case .docker:
            let isText = stored.withUnsafeBytes {
                (try? UTF8Span(validating: $0.bindMemory(to: UInt8.self).span)) != nil
            }
            guard isText else {
                throw TokenKeepError(.invalid, "the secret is not UTF-8, and docker's protocol is JSON")
            }
            return Value(secret: stored)
        }
    }

    /// The first line is the password. The other lines are KEY=VALUE.
    private func gitValue(of stored: SecretBytes) throws(TokenKeepError) -> Value {
        let lines = try stored.withUnsafeBytes { bytes throws(TokenKeepError) in
            var lines: [SecretBytes] = []
            for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
                lines.append(try SecretBytes(copying: UnsafeRawBufferPointer(rebasing: line)))
            }
            return lines
        }
        guard let password = lines.first else { throw TokenKeepError(.invalid, "the secret is empty") }
        try ToolItem.checkOneLine(password)
        var value = Value(secret: password)
        for line in lines.dropFirst() {
            if let text = try ToolItem.value(ofKey: "password_expiry_utc", in: line)?.utf8String,
                let seconds = Int64(text), 1...ToolItem.longestExpiry ~= seconds
            {
                value.expiresAt = UnixTime(seconds)
            } else if let token = try ToolItem.value(ofKey: "oauth_refresh_token", in: line), token.count > 0 {
                try ToolItem.checkOneLine(token)
                value = Value(
                    secret: try ToolItem.lines(password, token), attributes: try ItemAttributes([("format", "git")]),
                    expiresAt: value.expiresAt, hasRest: value.hasRest)
            } else if line.count > 0 {
                value.hasRest = true
            }
        }
        return value
    }

    /// The last second of the year 9999, the latest expiry that our helper keeps.
    private static let longestExpiry: Int64 = 253_402_300_799

    /// The lines in which git-credential-tokenkeep keeps a password with a refresh token.
    private static func lines(_ password: SecretBytes, _ token: SecretBytes) throws(TokenKeepError) -> SecretBytes {
        let keys = ["password=", "oauth_refresh_token="].map { Array($0.utf8) }
        let count = keys.reduce(0) { $0 + $1.count + 1 } + password.count + token.count
        return try SecretBytes(capacity: count) { buffer in
            var length = 0
            for (key, value) in zip(keys, [password, token]) {
                for byte in key { append(byte) }
                value.withUnsafeBytes { for byte in $0 { append(byte) } }
                append(UInt8(ascii: "\n"))
            }
            func append(_ byte: UInt8) {
                buffer[length] = byte
                length += 1
            }
            return length
        }
    }

    private static func value(ofKey key: String, in line: SecretBytes) throws(TokenKeepError) -> SecretBytes? {
        try line.withUnsafeBytes { bytes throws(TokenKeepError) in
            let start = key.utf8.count + 1
            guard bytes.starts(with: "\(key)=".utf8) else { return nil }
            return try SecretBytes(copying: UnsafeRawBufferPointer(rebasing: bytes[start...]))
        }
    }

    private static func checkOneLine(_ secret: SecretBytes) throws(TokenKeepError) {
        guard secret.withUnsafeBytes({ bytes in !bytes.contains { [0, 0x0A, 0x0D].contains($0) } }) else {
            throw TokenKeepError(.invalid, "the secret is not one line of text, which the tool's protocol needs")
        }
    }
}
