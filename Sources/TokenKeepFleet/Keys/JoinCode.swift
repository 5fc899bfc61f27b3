package import TokenKeepCore
import TokenKeepKeys
import TokenKeepSession

/// The contents of a join code: all data that a device needs to join a fleet.
package struct Invitation: Sendable {
    package var fleet: String
    /// The name of the user to whom the device will belong, and the user's id in paths.
    package var person: String
    package var userID: String
    package var userKey: SecretBytes
    package var endpoints: [String]
    /// The certificate of the servers' authority, as PEM; nil for the system's authorities.
    package var authority: String?
    package var user: String?
    package var password: SecretBytes?
    package var presence: Int64
    /// The time, in Unix seconds, after which the code is rejected.
    package var endsAt: Int64
}

/// An invitation as one line, sealed by eight words (docs/fleet.md, "Join codes").
package enum JoinCode {
    private static let start = "tokenkeep-fleet-1."
    private static let checkLength = 16
    private static let headLength = 24
    private static let data = Array("tokenkeep fleet 1 join".utf8)
    /// The maximum length of a code, in bytes.
    package static let longest = 65536

    /// Seals an invitation as a code. Returns the code and the eight words that open it.
    package static func make(
        _ invitation: Invitation, _ call: CallContext
    ) throws(TokenKeepError) -> (code: String, words: SecretBytes) {
        let words = try SpokenWords.make()
        let derivation = PasswordDerivation.new()
        guard case .argon2id(let passes, let memory, let salt) = derivation else {
            throw TokenKeepError(.internal, "a join code has no costs")
        }
        let key = try PasswordDerivation.key(of: words, by: derivation, call).wrapping
        let plaintext = try invitation.serialized()
        var bytes: [UInt8] = []
        for number in [passes, memory] { withUnsafeBytes(of: number.littleEndian) { bytes += $0 } }
        bytes += salt
        bytes += plaintext.withUnsafeBytes { AuthenticatedBox.seal($0, key: key, data: data) }
        bytes += check(bytes)
        return (start + Base64.text(bytes, .url), words)
    }

    /// Opens a code with its words.
    ///
    /// - Throws: ``Status/invalid`` if the code is damaged; ``Status/denied`` if the words are wrong;
    ///   ``Status/expired``.
    package static func open(
        _ code: String, words: SecretBytes, now: Int64, _ call: CallContext
    ) throws(TokenKeepError) -> Invitation {
        let bytes = try decoded(code)
        let words = try SpokenWords.normalized(words)
        let (passes, memory) = bytes.withUnsafeBytes {
            (
                UInt32(littleEndian: $0.loadUnaligned(as: UInt32.self)),
                UInt32(littleEndian: $0.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
            )
        }
        // The code is untrusted, so its numbers of passes and of KiB of memory for the key derivation are limited.
        guard (1...16).contains(passes), (8192...1_048_576).contains(memory) else { throw damaged }
        let derivation = KeyDerivation.argon2id(
            passes: passes, memoryKiB: memory, salt: Array(bytes[8..<headLength]))
        let key = try PasswordDerivation.key(of: words, by: derivation, call).wrapping
        let box = Array(bytes[headLength...])
        let plaintext = box.withUnsafeBytes { try? AuthenticatedBox.open($0, key: key, data: data, "code") }
        guard let plaintext else {
            throw TokenKeepError(.denied, "the words are not those of this join code", hint: "type them again")
        }
        let invitation = try Invitation(plaintext)
        guard now <= invitation.endsAt else {
            throw TokenKeepError(
                .expired, "the join code is not valid any more",
                hint: "make another: tokenkeep fleet invite; and check this machine's clock")
        }
        return invitation
    }

    private static func decoded(_ code: String) throws(TokenKeepError) -> [UInt8] {
        guard code.utf8.count <= longest, code.utf8.starts(with: start.utf8) else { throw damaged }
        let text = Array(code.utf8.dropFirst(start.utf8.count))
        guard let bytes = text.withUnsafeBytes({ Base64.bytes($0, .url) }),
            bytes.count > headLength + AuthenticatedBox.overhead + checkLength
        else { throw damaged }
        let content = Array(bytes.dropLast(checkLength))
        guard check(content) == Array(bytes.suffix(checkLength)) else { throw damaged }
        return content
    }

    /// A checksum that distinguishes a truncated or mistyped code from wrong words. It is not keyed.
    private static func check(_ bytes: [UInt8]) -> [UInt8] {
        bytes.withUnsafeBytes { KeyedHash.digest(of: $0, count: checkLength) }
    }

    private static let damaged = TokenKeepError(
        .invalid, "this is no join code, or a part of it is missing",
        hint: "copy the whole line, which begins with \(start)")
}

extension Invitation {
    package func serialized() throws(TokenKeepError) -> SecretBytes {
        let json = try JSONValue.object()
        let list = try JSONValue.array()
        for endpoint in endpoints { try list.append(SecretBytes(endpoint)) }
        try json.set("endpoints", list)
        if let authority { try json.set("authority", authority) }
        try json.set("ends_at", endsAt)
        try json.set("fleet", fleet)
        if let password { try json.set("password", password) }
        try json.set("person", person)
        try json.set("presence", presence)
        if let user { try json.set("user", user) }
        try json.set("user_id", userID)
        try json.set("user_key", Hexadecimal.secret(userKey))
        return try json.serialized()
    }

    /// Parses the plaintext of a code.
    ///
    /// - Throws: ``Status/invalid`` if a member is missing or malformed.
    package init(_ plaintext: SecretBytes) throws(TokenKeepError) {
        guard let json = plaintext.withUnsafeBytes({ JSONValue(parsing: $0) }),
            let fleet = json["fleet"]?.text, let person = json["person"]?.text, let userID = json["user_id"]?.text,
            FleetPaths.isID(userID, digits: 32), let key = try json["user_key"]?.secret(),
            let endpoints = json["endpoints"]?.texts, let endsAt = json["ends_at"]?.integer,
            let presence = json["presence"]?.integer,
            (FleetFile.shortestPresence...FleetFile.longestPresence).contains(presence)
        else {
            throw TokenKeepError(.invalid, "the join code was made by another version", hint: "upgrade TokenKeep")
        }
        try FleetPaths.check(fleet: fleet)
        self.init(
            fleet: fleet, person: person, userID: userID, userKey: try Hexadecimal.bytes(key), endpoints: endpoints,
            authority: json["authority"]?.text, user: json["user"]?.text, password: try json["password"]?.secret(),
            presence: presence, endsAt: endsAt)
    }
}

extension Hexadecimal {
    /// The hexadecimal digits of a key, in guarded memory.
    static func secret(_ key: SecretBytes) throws(TokenKeepError) -> SecretBytes {
        let digits = Array("0123456789abcdef".utf8)
        return try SecretBytes(count: key.count * 2) { text in
            key.withUnsafeBytes { key in
                for (index, byte) in key.enumerated() {
                    text[index * 2] = digits[Int(byte >> 4)]
                    text[index * 2 + 1] = digits[Int(byte & 15)]
                }
            }
        }
    }

    /// Decodes a key from its hexadecimal digits.
    ///
    /// - Throws: ``Status/corrupt`` if the text is not an even number of lower-case digits.
    static func bytes(_ digits: SecretBytes) throws(TokenKeepError) -> SecretBytes {
        func value(_ digit: UInt8) -> UInt8? {
            switch digit {
            case 0x30...0x39: digit - 0x30
            case 0x61...0x66: digit - 0x57
            default: nil
            }
        }
        return try SecretBytes(count: digits.count / 2) { key throws(TokenKeepError) in
            let isWhole = digits.withUnsafeBytes { digits in
                for index in key.indices {
                    guard let high = value(digits[index * 2]), let low = value(digits[index * 2 + 1]) else {
                        return false
                    }
                    key[index] = high << 4 | low
                }
                return digits.count % 2 == 0
            }
            guard isWhole else {
                throw TokenKeepError(.corrupt, "a key of the fleet is damaged", hint: "join the fleet again")
            }
        }
    }
}
