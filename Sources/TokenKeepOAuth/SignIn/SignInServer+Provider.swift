package import TokenKeepCore
package import TokenKeepEngine
import TokenKeepSession

extension SignInServer {
    /// The server of a provider's file.
    ///
    /// - Parameters:
    ///   - store: holds the client's secret, if the file names its item.
    ///   - deadline: limits the discovery of endpoints.
    /// - Throws: ``Status/invalid`` if the file has no `client_id`; ``Status/unsupported`` if there is no token endpoint;
    ///   the errors of a discovery.
    package init(_ provider: Provider, _ store: Store, until deadline: Deadline) throws(TokenKeepError) {
        guard let client = provider[.clientID] else {
            throw TokenKeepError(
                .invalid, "the provider \(provider.name) has no client_id",
                hint: "register a client at the server, and write client_id = ID into a file that includes this one")
        }
        guard let token = try provider.endpoint(.tokenEndpoint, until: deadline) else {
            throw TokenKeepError(.unsupported, "the provider \(provider.name) has no token_endpoint")
        }
        let device = try provider.endpoint(.deviceAuthorizationEndpoint, until: deadline)
        self.init(name: provider.name, clientID: client) { endpoint, fields, deadline throws(TokenKeepError) in
            guard let address = endpoint == .token ? token : device else {
                throw TokenKeepError(
                    .unsupported, "the provider \(provider.name) has no device_authorization_endpoint",
                    hint: "use --flow paste")
            }
            return try SignInServer.post(fields, to: address, provider, client, store, deadline)
        }
        authorizationEndpoint = try provider.endpoint(.authorizationEndpoint, until: deadline)
        hasDeviceFlow = device != nil
        redirect = provider[.redirect]
        if let claim = provider[.accountClaim] { accountClaims = [claim] }
        issuer = provider[.issuer]
        promisesIssuer = try provider.promisesIssuer(until: deadline)
    }

    private static func post(
        _ fields: [(String, SecretBytes)], to address: WebAddress, _ provider: Provider, _ client: String,
        _ store: Store, _ deadline: Deadline
    ) throws(TokenKeepError) -> HTTPResponse {
        var form = ClientAuthentication(headers: [try SecretBytes("Accept: application/json")], fields: fields)
        try form.add(client, of: provider, store, mayPrompt: true, until: deadline)
        var request = HTTPRequest(address, body: try SessionRequest.form(form.fields), deadline: deadline)
        request.headers = form.headers
        request.caFile = provider[.caFile]
        do throws(HTTPFailure) {
            return try HTTPClient.send(request)
        } catch {
            throw error.error
        }
    }
}
