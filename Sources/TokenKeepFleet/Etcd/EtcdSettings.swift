package import TokenKeepCore
package import TokenKeepOAuth

/// The addresses of a registry, and the credentials for it.
package struct EtcdSettings: Sendable {
    /// The maximum number of endpoints.
    package static let mostEndpoints = 16

    package var endpoints: [WebAddress]
    /// The path of the PEM file with the certificate of the servers' authority; nil for the system's authorities.
    ///
    /// The next two paths are those of the client certificate and its key; nil if there is no client certificate.
    package var caFile: String?
    package var certificateFile: String?
    package var keyFile: String?
    /// etcd's user; nil for a registry without users.
    package var user: String?
    package var password: SecretBytes?

    /// Checks the addresses, and makes settings without files and user.
    ///
    /// - Throws: ``Status/invalid`` if an address is malformed, or if it is http and not on this machine.
    package init(endpoints: [String]) throws(TokenKeepError) {
        guard !endpoints.isEmpty, endpoints.count <= EtcdSettings.mostEndpoints else {
            throw TokenKeepError(.invalid, "a fleet needs 1 to 16 endpoints", hint: "--endpoint https://HOST:2379")
        }
        var addresses: [WebAddress] = []
        for endpoint in endpoints {
            var text = endpoint
            while text.utf8.last == UInt8(ascii: "/") { text.removeLast() }
            addresses.append(try WebAddress(text))
        }
        self.endpoints = addresses
    }
}
