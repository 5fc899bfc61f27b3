import TokenKeepCore
import TokenKeepEngine

/// The form and headers of a request, to which the client's id and secret can be added (RFC 6749 section 2.3).
struct ClientAuthentication {
    /// The header lines, `Name: value`.
    var headers: [SecretBytes]
    var fields: [(String, SecretBytes)]

    /// Adds the client's id and secret, by the method that the provider requires.
    ///
    /// - Parameters:
    ///   - hasID: whether the form already contains the client's id.
    ///   - mayPrompt: whether the user may be asked to unlock the client's secret.
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
