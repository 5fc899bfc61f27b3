import TokenKeepCore

/// The redirect address of a sign-in: `http://127.0.0.1:PORT/PATH` or `http://localhost:PORT/PATH` (RFC 8252 section 7.3).
struct RedirectAddress {
    let host: String
    /// The registered port; nil if the listener may choose the port.
    let port: UInt16?
    let path: String

    /// Parses a redirect address. With nil, creates the default, `http://127.0.0.1/callback` with any port.
    ///
    /// - Throws: ``Status/invalid`` if the address has not one of these two forms.
    init(_ text: String?) throws(TokenKeepError) {
        guard let text else {
            (host, port, path) = ("127.0.0.1", nil, "/callback")
            return
        }
        let prefix = "http://"
        guard text.utf8.starts(with: prefix.utf8), !text.utf8.contains(0x3F), !text.utf8.contains(0x23) else {
            throw RedirectAddress.invalid(text)
        }
        let rest = text.utf8.dropFirst(prefix.utf8.count)
        let authority = rest.prefix { $0 != 0x2F }
        let parts = authority.split(separator: 0x3A, omittingEmptySubsequences: false)
        guard let name = parts.first.map({ String(decoding: $0, as: UTF8.self) }),
            ["127.0.0.1", "localhost"].contains(name), parts.count <= 2
        else { throw RedirectAddress.invalid(text) }
        host = name
        path = String(decoding: rest.dropFirst(authority.count), as: UTF8.self)
        guard parts.count == 2 else {
            port = nil
            return
        }
        guard let number = UInt16(String(decoding: parts[1], as: UTF8.self)), number > 0 else {
            throw RedirectAddress.invalid(text)
        }
        port = number
    }

    /// The address with that port.
    func text(port: UInt16) -> String { "http://\(authority(port: port))\(path)" }

    /// Host and port as a browser sends them in the Host header.
    func authority(port: UInt16) -> String { port == 80 ? host : "\(host):\(port)" }

    private static func invalid(_ text: String) -> TokenKeepError {
        TokenKeepError(
            .invalid, "the redirect address \(text) does not lead to this machine",
            hint: "write http://127.0.0.1/PATH or http://localhost:PORT/PATH")
    }
}
