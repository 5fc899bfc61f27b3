import TokenKeepCore
import TokenKeepEngine
import TokenKeepSession

/// Loads a client's secret, and encodes it for a request.
enum ClientSecret {
    /// Loads the secret from its item.
    ///
    /// - Parameter mayPrompt: whether the user may be asked to unlock the secret. False while a session's lock is held,
    ///   because other processes would wait for the answer.
    /// - Throws: ``Status/denied`` if there is no such item, naming the provider; otherwise the errors of loading an
    ///   item.
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

    /// The value of a Basic Authorization header (RFC 6749 section 2.3.1). Id and secret are form-encoded first.
    static func basic(_ client: String, _ secret: SecretBytes) throws(TokenKeepError) -> SecretBytes {
        let name = try SessionRequest.form([("", SecretBytes(client))])
        let password = try SessionRequest.form([("", secret)])
        // Both encoded forms begin with "=", because the field names are empty. This byte is dropped.
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
