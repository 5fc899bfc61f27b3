import TokenKeepCore
import TokenKeepSession

/// The keys in a provider file.
package enum ProviderKey: String, CaseIterable, Sendable {
    case include
    case issuer
    case clientID = "client_id"
    case clientSecret = "client_secret"
    case scope
    case resource
    case audience
    case redirect
    case responseMode = "response_mode"
    case rotation
    case authMethod = "auth_method"
    case accountClaim = "account_claim"
    case authorizationEndpoint = "authorization_endpoint"
    case tokenEndpoint = "token_endpoint"
    case deviceAuthorizationEndpoint = "device_authorization_endpoint"
    case revocationEndpoint = "revocation_endpoint"
    case userinfoEndpoint = "userinfo_endpoint"
    case endSessionEndpoint = "end_session_endpoint"
    case validateEndpoint = "validate_endpoint"
    case extendEndpoint = "extend_endpoint"
    case extendField = "extend_field"
    case extendUnit = "extend_unit"
    case sessionsPage = "sessions_page"
    case caFile = "ca_file"
    case exec

    /// The endpoints that a server's metadata may name.
    package static let discoverable: [ProviderKey] = [
        .authorizationEndpoint, .tokenEndpoint, .deviceAuthorizationEndpoint, .revocationEndpoint, .userinfoEndpoint,
        .endSessionEndpoint,
    ]

    /// Checks the value of this key.
    ///
    /// - Throws: ``Status/invalid`` if the value is not valid for this key, with the expected form in the message.
    func check(_ value: String) throws(TokenKeepError) {
        switch self {
        case .issuer:
            guard !(try WebAddress(value).text.utf8.contains(UInt8(ascii: "?"))) else {
                throw expected("an issuer without a query")
            }
        case .authorizationEndpoint, .tokenEndpoint, .deviceAuthorizationEndpoint, .revocationEndpoint,
            .userinfoEndpoint, .endSessionEndpoint, .validateEndpoint, .extendEndpoint, .sessionsPage:
            _ = try WebAddress(value)
        case .resource: _ = try TokenTarget(resource: value, scope: nil)
        case .scope: _ = try TokenTarget(resource: nil, scope: value)
        case .clientSecret:
            guard Provider.item(value) != nil else {
                throw expected("item SERVICE ACCOUNT: a secret does not belong in a file")
            }
        case .rotation:
            guard Provider.rotation(value) != nil else { throw expected("strict, none or overlap SECONDS (to 86400)") }
        case .authMethod: try check(value, among: ["client_secret_basic", "client_secret_post", "none"])
        case .responseMode: try check(value, among: ["query", "form_post"])
        case .extendUnit: try check(value, among: Provider.units.map(\.word))
        case .redirect:
            _ = try RedirectAddress(value)
        case .caFile:
            guard value.utf8.first == UInt8(ascii: "/") else { throw expected("an absolute path") }
        case .include:
            guard ProviderFiles.isName(value) else { throw expected("the name of a provider") }
        case .extendField, .accountClaim, .clientID, .audience, .exec: break
        }
    }

    private func check(_ value: String, among words: [String]) throws(TokenKeepError) {
        guard words.contains(value) else { throw expected(words.joined(separator: ", ")) }
    }

    private func expected(_ words: String) -> TokenKeepError { TokenKeepError(.invalid, "expected \(words)") }
}
