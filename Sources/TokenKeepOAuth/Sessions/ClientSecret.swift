import TokenKeepCore
import TokenKeepEngine
import TokenKeepSession

/// The secret of a client, and its use in a request.
enum ClientSecret {
    /// Loads the secret from its item.
    ///
    /// - Parameter mayPrompt: not while a lock of a session is held: other processes would wait for the user's answer.
    /// - Throws: as a load; ``Status/notFound`` names the provider.
    static func load(
        _ item: (service: String, account: String), of provider: String, _ store: Store, mayPrompt: Bool,
        until deadline: Deadline
    ) throws(TokenKeepError) -> SecretBytes {
        do throws(TokenKeepError) {
            guard mayPrompt else {
                let name = try ItemName(namespace: store.namespace, service: item.service, account: item.account)
                return try store.withoutPrompts.load(name, until: deadline).secret
            }
            return try store.load(service: item.service, account: item.account, until: deadline).secret
        } catch {
            guard error.status == .notFound else { throw error }
            throw TokenKeepError(
                .denied, "the client secret of the provider \(provider) is missing",
                hint: "tokenkeep save \(item.service) \(item.account)")
        }
    }

    /// The value of the header Authorization (RFC 6749 section 2.3.1): both parts are encoded as in a form.
    static func basic(_ client: String, _ secret: SecretBytes) throws(TokenKeepError) -> SecretBytes {
        let name = try SessionRequest.form([("", SecretBytes(client))])
        let password = try SessionRequest.form([("", secret)])
        // Each is "=TEXT".
        let pair = try SecretBytes(count: name.count + password.count - 1) { bytes in
            name.withUnsafeBytes { bytes.copyBytes(from: $0.dropFirst()) }
            bytes[name.count - 1] = UInt8(ascii: ":")
            password.withUnsafeBytes {
                UnsafeMutableRawBufferPointer(rebasing: bytes[name.count...]).copyBytes(from: $0.dropFirst())
            }
        }
        let encoded = try pair.withUnsafeBytes { bytes throws(TokenKeepError) in try Base64Text.encoded(bytes) }
        return try SecretText.joined("Basic ", encoded)
    }
}
