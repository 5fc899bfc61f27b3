import Glibc
package import TokenKeepCore
package import TokenKeepSession

/// Fetches the metadata of an authorization server (RFC 8414, otherwise OpenID Connect Discovery).
package struct Discovery {
    /// The time limit for fetching metadata, in milliseconds.
    private static let longestFetch: UInt32 = 20_000
    /// The time limit, in milliseconds, if expired metadata from the cache can be used instead.
    private static let longestUpdate: UInt32 = 5000

    let issuer: WebAddress
    let caFile: String?
    private let cache: DiscoveryCache

    /// - Parameter cache: the directory in which metadata are cached for a day; nil to cache nothing.
    package init(issuer: WebAddress, caFile: String?, cache: String? = Discovery.cachePath) {
        self.issuer = issuer
        self.cache = DiscoveryCache(issuer, caFile: caFile ?? Authorities.fromEnvironment, in: cache)
        self.caFile = caFile
    }

    /// `$XDG_CACHE_HOME/tokenkeep/discovery`, by default in `~/.cache`; nil if the process has more rights than its
    /// caller.
    package static var cachePath: String? {
        guard !Privileges.areRaised else { return nil }
        if let value = getenv("XDG_CACHE_HOME"), let path = String(validatingCString: value),
            path.utf8.first == UInt8(ascii: "/")
        {
            return path + "/tokenkeep/discovery"
        }
        return HomeDirectory.path().map { $0 + "/.cache/tokenkeep/discovery" }
    }

    /// Returns the server's metadata, from the cache if they are less than a day old.
    ///
    /// - Throws: ``Status/denied`` if the metadata name another issuer; ``Status/unavailable`` if the server does not
    ///   answer or has no metadata; other errors of the request.
    package func metadata(until deadline: Deadline) throws(TokenKeepError) -> JSONValue {
        guard let metadata = try metadataIfAny(until: deadline) else {
            throw TokenKeepError(
                .unavailable, "\(issuer.text) has no metadata", module: "server",
                hint: "check the issuer, or write the endpoints into the provider's file")
        }
        return metadata
    }

    /// Returns the server's metadata; nil if the server has no metadata, which the status 404 or 410 at each address
    /// shows.
    ///
    /// If the server does not answer, or answers without metadata, returns expired metadata from the cache: the token
    /// endpoint may be on another host that is reachable, and the answer may come from a proxy.
    func metadataIfAny(until deadline: Deadline) throws(TokenKeepError) -> JSONValue? {
        let kept = cache.read().flatMap { try? checked($0) }
        if let kept, cache.isFresh { return kept }
        let longest = min(Discovery.longestUpdate, deadline.remainingMilliseconds / 2)
        let limit = deadline.within(milliseconds: kept == nil ? Discovery.longestFetch : longest)
        var problem: TokenKeepError?
        for address in try addresses() {
            do throws(TokenKeepError) {
                if let metadata = try fetch(address, until: limit) { return metadata }
            } catch {
                try deadline.checkCancellation()
                // The error of the first address usually describes the cause better, so it is kept. An error about a
                // wrong issuer (`denied`) describes it best.
                if problem == nil || error.status == .denied { problem = error }
            }
        }
        if let kept { return kept }
        if let problem { throw problem }
        return nil
    }

    /// Requests metadata at one address, and caches them; nil if the server has no metadata at this address (404 or
    /// 410).
    private func fetch(_ address: WebAddress, until deadline: Deadline) throws(TokenKeepError) -> JSONValue? {
        let response = try ask(address, until: deadline)
        switch response.status {
        case 200:
            guard let metadata = try checked(response.body) else { throw isNoObject }
            cache.write(response.body)
            return metadata
        case 404, 410: return nil
        default:
            throw TokenKeepError(
                .unavailable, "\(address.text) answered \(response.status)", module: "server",
                hint: "check the issuer, or try again later")
        }
    }

    private var isNoObject: TokenKeepError {
        TokenKeepError(
            .unavailable, "the metadata of \(issuer.text) is not a JSON object", module: "server",
            hint: "check the issuer and the network: a proxy or a portal may have answered")
    }

    /// Marks the cached metadata as expired, so that the server is asked again. Called after one of their endpoints was
    /// not found.
    package func forget() { cache.markStale() }

    /// The two possible addresses of the metadata: RFC 8414 puts the well-known path before the issuer's path, OpenID
    /// Connect Discovery after it.
    private func addresses() throws(TokenKeepError) -> [WebAddress] {
        let path = issuer.path.hasSuffix("/") ? String(issuer.path.dropLast()) : issuer.path
        return [
            try WebAddress("\(issuer.origin)/.well-known/oauth-authorization-server\(path)"),
            try WebAddress("\(issuer.origin)\(path)/.well-known/openid-configuration"),
        ]
    }

    private func ask(_ address: WebAddress, until deadline: Deadline) throws(TokenKeepError) -> HTTPResponse {
        var request = HTTPRequest(address, deadline: deadline)
        request.caFile = caFile
        do throws(HTTPFailure) {
            return try HTTPClient.send(request)
        } catch {
            throw error.error
        }
    }

    /// Parses and checks metadata. Returns nil if the body is no JSON object, for example a web page, with which some
    /// servers answer at every address.
    ///
    /// - Throws: ``Status/denied`` if the metadata name another issuer.
    package func checked(_ body: SecretBytes) throws(TokenKeepError) -> JSONValue? {
        guard let metadata = body.withUnsafeBytes({ JSONValue.answer($0) }) else { return nil }
        let named = metadata["issuer"]?.text ?? ""
        guard PlainText.areSame(named, issuer.text) else {
            throw TokenKeepError(
                .denied, "the metadata of \(issuer.text) is that of \"\(PlainText.printable(named))\"",
                hint: "the issuer must be equal to the letter")
        }
        return metadata
    }

    /// Returns the address of an endpoint in the server's metadata; nil if the metadata do not name the endpoint, or
    /// name an empty address.
    ///
    /// - Throws: ``Status/denied`` if the endpoint is not https. A caller that does not use the endpoint may ignore
    ///   this.
    package func endpoint(_ key: ProviderKey, in metadata: JSONValue) throws(TokenKeepError) -> WebAddress? {
        guard let endpoint = metadata[key.rawValue], !endpoint.isBlank else { return nil }
        let text = endpoint.text ?? ""
        guard let address = try? WebAddress(text), issuer.isPlain || !address.isPlain else {
            throw TokenKeepError(
                .denied, "\(key.rawValue) of \(issuer.text) is \"\(PlainText.printable(text))\", and must be https",
                hint: "write the right address into the provider's file: \(key.rawValue) = https://HOST/PATH")
        }
        return address
    }
}
