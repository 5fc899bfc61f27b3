package import TokenKeepCore
package import TokenKeepOAuth

/// Where a registry is, and how it is reached.
package struct EtcdSettings: Sendable {
    /// The most endpoints.
    package static let mostEndpoints = 16

    package var endpoints: [WebAddress]
    /// PEM files; nil for the system's authorities, and for no client certificate.
    package var caFile: String?
    package var certificateFile: String?
    package var keyFile: String?
    /// etcd's user; nil for a registry without users.
    package var user: String?
    package var password: SecretBytes?

    /// - Throws: ``Status/invalid`` for an address that is none, or http that leaves this machine.
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
