import Foundation

/// The origin of an address: scheme, host and port (RFC 6454).
struct HTTPOrigin: Sendable, Hashable {
    private let scheme: String
    private let host: String
    private let port: Int

    /// The origin of an http or https address; nil for any other address.
    init?(_ url: URL?) {
        guard let url, let scheme = url.scheme?.lowercased(), let host = url.host(percentEncoded: false)?.lowercased(),
            !host.isEmpty, let usual = ["https": 443, "http": 80][scheme]
        else { return nil }
        self.scheme = scheme
        self.host = host
        port = url.port ?? usual
    }

    var isEncrypted: Bool { scheme == "https" }

    /// Whether no other machine can read a request to the origin: https, or a server on this machine.
    var isPrivate: Bool { isEncrypted || ["127.0.0.1", "::1", "[::1]", "localhost"].contains(host) }
}
