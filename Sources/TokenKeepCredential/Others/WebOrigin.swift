import TokenKeepCore

/// The scheme, the host and, if present, the port of a web address, in lower case.
struct WebOrigin {
    /// The origin in the form `SCHEME://HOST[:PORT]`.
    let text: String
    /// The username in the address; nil if there is none.
    let username: String?

    /// Parses an address.
    ///
    /// - Throws: ``Status/invalid`` if the text does not begin with `SCHEME://HOST`.
    init(_ address: String) throws(TokenKeepError) {
        let utf8 = Array(address.utf8)
        guard let colon = utf8.firstIndex(of: UInt8(ascii: ":")), colon > 0,
            utf8[..<colon].allSatisfy(WebOrigin.isSchemeByte), utf8[colon...].starts(with: "://".utf8)
        else { throw WebOrigin.malformed }
        let rest = utf8[(colon + 3)...]
        let end = rest.firstIndex { "/?#".utf8.contains($0) } ?? rest.endIndex
        var host = rest[..<end]
        if let at = host.lastIndex(of: UInt8(ascii: "@")) {
            let name = host[..<at].prefix { $0 != UInt8(ascii: ":") }
            username = name.isEmpty ? nil : String(decoding: name, as: UTF8.self)
            host = host[(at + 1)...]
        } else {
            username = nil
        }
        guard !host.isEmpty, host.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") }) else {
            throw WebOrigin.malformed
        }
        text = String(decoding: utf8[..<colon] + Array("://".utf8) + host, as: UTF8.self).lowercased()
    }

    /// Whether the scheme of an address may contain this byte.
    static func isSchemeByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
            true
        default: false
        }
    }

    private static let malformed = TokenKeepError(.invalid, "the uri has not the form SCHEME://HOST")
}
