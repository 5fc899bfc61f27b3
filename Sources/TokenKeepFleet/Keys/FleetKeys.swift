import CSodium
package import TokenKeepCore
import TokenKeepKeys

/// The fleet's own key, from which the keys of its users are derived, or the key of a user (docs/fleet.md, "Keys").
///
/// All derivations are keyed BLAKE2b of a length-prefixed sequence, whose first part names the use.
package struct FleetKey: Sendable {
    /// The length of a key, in bytes.
    package static let length = 32

    package let bytes: SecretBytes

    /// Makes a key from its bytes.
    ///
    /// - Throws: ``Status/corrupt`` if `bytes` has another length.
    package init(_ bytes: SecretBytes) throws(TokenKeepError) {
        guard bytes.count == FleetKey.length else {
            throw TokenKeepError(.corrupt, "a key of the fleet has not 32 bytes", hint: "join the fleet again")
        }
        self.bytes = bytes
    }

    /// Makes a random key.
    package init() throws(TokenKeepError) { bytes = try SecretBytes(randomCount: FleetKey.length) }

    /// Derives the key of a user from the fleet's key.
    package func user(_ name: String) throws(TokenKeepError) -> FleetKey { try derived("user", name) }

    /// Derives the key that seals the names of the fleet's users.
    package func administration() throws(TokenKeepError) -> FleetKey { try derived("administration") }

    /// The id of a user in paths, derived from the fleet's key: 32 hexadecimal digits.
    package func userID(_ name: String) -> String { hash("user id", name) }

    /// The id of an account in paths, derived from the user's key: 32 hexadecimal digits.
    package func accountID(service: String, account: String) -> String { hash("account id", service, account) }

    /// The identity of a session, derived from the user's key: 32 hexadecimal digits.
    package func sessionID(service: String, account: String, epoch: String, mark: UInt32) -> String {
        hash("session id", service, account, epoch, String(mark))
    }

    /// The id of the order that ends a session on a device. It does not depend on the sender of the order.
    package func orderID(device: String, session: String) -> String { hash("order id", device, session) }

    /// The keyed hash of a person at an identity provider, under the user's key.
    package func subjectHash(issuer: String, subject: String) -> String { hash("subject", issuer, subject) }

    /// The keyed hash of an e-mail address in lower case, under the user's key.
    package func emailHash(_ address: String) -> String { hash("email", address.lowercased()) }

    /// Seals a value for its path. The value cannot be opened at another path.
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

    /// The additional data that a box authenticates: the value's path.
    static func data(_ path: String) -> [UInt8] { Array("tokenkeep fleet 1\0\(path)".utf8) }
}
