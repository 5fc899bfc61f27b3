import CSodium
package import TokenKeepCore
import TokenKeepKeys

/// A key of the fleet: the fleet's own, from which those of its users come, or a user's (docs/fleet.md, "Keys").
///
/// All derivations are keyed BLAKE2b of a length-prefixed sequence, whose first part names the use.
package struct FleetKey: Sendable {
    /// In bytes.
    package static let length = 32

    package let bytes: SecretBytes

    /// - Throws: ``Status/corrupt`` for another length.
    package init(_ bytes: SecretBytes) throws(TokenKeepError) {
        guard bytes.count == FleetKey.length else {
            throw TokenKeepError(.corrupt, "a key of the fleet has not 32 bytes", hint: "join the fleet again")
        }
        self.bytes = bytes
    }

    /// A new key.
    package init() throws(TokenKeepError) { bytes = try SecretBytes(randomCount: FleetKey.length) }

    /// The key of a user, from the fleet's key.
    package func user(_ name: String) throws(TokenKeepError) -> FleetKey { try derived("user", name) }

    /// The key of the fleet's own values: the names of its users.
    package func administration() throws(TokenKeepError) -> FleetKey { try derived("administration") }

    /// The name of a user in paths, from the fleet's key: 32 hexadecimal digits.
    package func userID(_ name: String) -> String { hash("user id", name) }

    /// The name of an account in paths, from the user's key: 32 hexadecimal digits.
    package func accountID(service: String, account: String) -> String { hash("account id", service, account) }

    /// The identity of a session, from the user's key: 32 hexadecimal digits.
    package func sessionID(service: String, account: String, epoch: String, mark: UInt32) -> String {
        hash("session id", service, account, epoch, String(mark))
    }

    /// The id of the order that ends a session on a device: the same order has the same id, whoever gives it.
    package func orderID(device: String, session: String) -> String { hash("order id", device, session) }

    /// A person at an identity provider, from the user's key.
    package func subjectHash(issuer: String, subject: String) -> String { hash("subject", issuer, subject) }

    /// An e-mail address, in lower case, from the user's key.
    package func emailHash(_ address: String) -> String { hash("email", address.lowercased()) }

    /// Seals a value for its path, and for no other.
    package func seal(_ plaintext: SecretBytes, path: String) -> [UInt8] {
        plaintext.withUnsafeBytes {
            [SealedValue.version] + AuthenticatedBox.seal($0, key: bytes, data: SealedValue.data(path))
        }
    }

    /// Opens a value; nil if it was not sealed under this key for this path.
    package func open(_ value: [UInt8], path: String) -> SecretBytes? {
        guard value.first == SealedValue.version else { return nil }
        return value.withUnsafeBytes { value in
            try? AuthenticatedBox.open(
                UnsafeRawBufferPointer(rebasing: value[1...]), key: bytes, data: SealedValue.data(path), "value")
        }
    }

    private func derived(_ parts: String...) throws(TokenKeepError) -> FleetKey {
        let text = FleetKey.sequence(parts)
        return try FleetKey(
            SecretBytes(count: FleetKey.length) { derived in
                bytes.withUnsafeBytes { key in
                    guard let derived = derived.bindMemory(to: UInt8.self).baseAddress else { return }
                    _ = crypto_generichash(
                        derived, FleetKey.length, text, UInt64(text.count), key.bindMemory(to: UInt8.self).baseAddress,
                        key.count)
                }
            })
    }

    private func hash(_ parts: String...) -> String {
        let text = FleetKey.sequence(parts)
        return Hexadecimal.text(
            bytes.withUnsafeBytes { key in
                text.withUnsafeBytes { KeyedHash.digest(of: $0, key: key, count: 16) }
            })
    }

    private static func sequence(_ parts: [String]) -> [UInt8] {
        var sequence = LengthPrefixedBytes()
        sequence.append("tokenkeep fleet 1".utf8)
        for part in parts { sequence.append(part.utf8) }
        return sequence.bytes
    }
}

private enum SealedValue {
    static let version: UInt8 = 1

    /// The additional data that a box authenticates beside its content.
    static func data(_ path: String) -> [UInt8] { Array("tokenkeep fleet 1\0\(path)".utf8) }
}
