import TokenKeepCore
import TokenKeepEngine

/// A form with the id and the secret of the client that sends it (RFC 6749 section 2.3).
struct ClientAuthentication {
    /// Lines `Name: value`.
    var headers: [SecretBytes]
    var fields: [(String, SecretBytes)]

    /// Adds the client, by the method of its provider.
    ///
    /// - Parameters:
    ///   - hasID: whether the form has the client's id already.
    ///   - mayPrompt: whether the user may be asked to open the client's secret.
    mutating func add(
        _ client: String, of provider: Provider?, hasID: Bool = false, _ store: Store, mayPrompt: Bool,
        until deadline: Deadline
    ) throws(TokenKeepError) {
        let secret = try provider?.secretItem.map { item throws(TokenKeepError) in
            try ClientSecret.load(item, of: provider?.name ?? "", store, mayPrompt: mayPrompt, until: deadline)
        }
        let method = provider?[.authMethod] ?? (secret == nil ? "none" : "client_secret_basic")
        if let secret, method == "client_secret_basic" {
            headers.append(try HTTPRequest.header("Authorization", ClientSecret.basic(client, secret)))
            return
        }
        if !hasID { fields.append(("client_id", try SecretBytes(client))) }
        if let secret, method == "client_secret_post" { fields.append(("client_secret", secret)) }
    }
}
