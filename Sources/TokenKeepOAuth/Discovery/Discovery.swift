import Glibc
package import TokenKeepCore
package import TokenKeepSession

/// The metadata of an authorization server: RFC 8414, else OpenID Connect Discovery.
package struct Discovery {
    private static let milliseconds: UInt32 = 20_000

    let issuer: WebAddress
    let caFile: String?
    private let cache: DiscoveryCache

    /// - Parameter cache: the directory that keeps metadata for a day; nil for none.
    package init(issuer: WebAddress, caFile: String?, cache: String? = Discovery.cachePath) {
        self.issuer = issuer
        self.cache = DiscoveryCache(issuer, in: cache)
        self.caFile = caFile
    }

    /// `$XDG_CACHE_HOME/tokenkeep/discovery`; nil for a process with more rights than its caller.
    package static var cachePath: String? {
        guard !Privileges.areRaised else { return nil }
        if let value = getenv("XDG_CACHE_HOME"), let path = String(validatingCString: value),
            path.utf8.first == UInt8(ascii: "/")
        {
            return path + "/tokenkeep/discovery"
        }
        return HomeDirectory.path().map { $0 + "/.cache/tokenkeep/discovery" }
    }

    /// The server's metadata, from the cache if it is younger than a day.
    ///
    /// - Throws: ``Status/denied`` if the metadata is another issuer's, or has an endpoint that is not https;
    ///   ``Status/unavailable`` and others if the server does not answer.
    package func metadata(until deadline: Deadline) throws(TokenKeepError) -> JSONValue {
        if let kept = cache.read(), let metadata = try? checked(kept) { return metadata }
        let limit = deadline.within(milliseconds: Discovery.milliseconds)
        var problem: TokenKeepError?
        for address in try addresses() {
            let (body, fault) = try ask(address, until: limit)
            guard let body, isObject(body) else {
                problem = fault ?? TokenKeepError(.denied, "the metadata of \(issuer.text) is not a JSON object")
                continue
            }
            let metadata = try checked(body)
            cache.write(body)
            return metadata
        }
        throw problem ?? TokenKeepError(.unavailable, "\(issuer.text) has no metadata")
    }

    /// The addresses of the metadata: with the well-known path before the issuer's, and behind it.
    private func addresses() throws(TokenKeepError) -> [WebAddress] {
        let path = issuer.path.hasSuffix("/") ? String(issuer.path.dropLast()) : issuer.path
        return [
            try WebAddress("\(issuer.origin)/.well-known/oauth-authorization-server\(path)"),
            try WebAddress("\(issuer.origin)\(path)/.well-known/openid-configuration"),
        ]
    }

    /// The body of an answer; nil and the reason if the server has nothing there.
    private func ask(
        _ address: WebAddress, until deadline: Deadline
    ) throws(TokenKeepError) -> (body: SecretBytes?, fault: TokenKeepError?) {
        var request = HTTPRequest(address, deadline: deadline)
        request.caFile = caFile
        let response: HTTPResponse
        do throws(HTTPFailure) {
            response = try HTTPClient.send(request)
        } catch {
            throw error.error
        }
        if response.status == 200 { return (response.body, nil) }
        let fault = TokenKeepError(
            .unavailable, "\(address.text) answered \(response.status)", module: "server",
            hint: "check the issuer, or write the endpoints into the provider's file")
        return (nil, fault)
    }

    /// Whether a body is JSON. A server may answer every address with a page.
    private func isObject(_ body: SecretBytes) -> Bool { body.withUnsafeBytes { JSONValue(parsing: $0) } != nil }

    private func checked(_ body: SecretBytes) throws(TokenKeepError) -> JSONValue {
        guard let metadata = body.withUnsafeBytes({ JSONValue(parsing: $0) }) else {
            throw TokenKeepError(.denied, "the metadata of \(issuer.text) is not a JSON object")
        }
        let named = metadata["issuer"]?.text ?? ""
        guard named == issuer.text, named.utf8.elementsEqual(issuer.text.utf8) else {
            throw TokenKeepError(
                .denied, "the metadata of \(issuer.text) is that of \"\(PlainText.printable(named))\"",
                hint: "the issuer must be equal to the letter")
        }
        for key in ProviderKey.discoverable {
            guard let endpoint = metadata[key.rawValue] else { continue }
            let text = endpoint.text ?? ""
            guard let address = try? WebAddress(text), issuer.isPlain || !address.isPlain else {
                throw TokenKeepError(
                    .denied, "\(key.rawValue) of \(issuer.text) is \"\(PlainText.printable(text))\", and must be https")
            }
        }
        return metadata
    }
}
