package import TokenKeepCore

/// The address of a server's endpoint, with the scheme https, or http for this machine (127.0.0.1 or [::1]).
package struct WebAddress: Sendable, Equatable {
    /// The whole address, as it was given.
    package let text: String
    /// Scheme, host and port, as they were given.
    package let origin: String
    /// The path with the query; "" if there is none.
    package var path: String { String(text.utf8.dropFirst(origin.utf8.count)) ?? "" }
    /// Whether the scheme is http, which is allowed only for this machine.
    package var isPlain: Bool { text.utf8.starts(with: "http:".utf8) }

    private static let longest = 2048

    /// Parses an address.
    ///
    /// http is allowed only for 127.0.0.1 and [::1]. The name localhost is refused, because a name may resolve to
    /// another machine.
    ///
    /// - Throws: ``Status/invalid`` for another scheme, a user name, a fragment or a character that is not allowed in
    ///   addresses.
    package init(_ text: String) throws(TokenKeepError) {
        guard text.utf8.count <= WebAddress.longest, text.utf8.allSatisfy(WebAddress.isAllowed) else {
            throw TokenKeepError(.invalid, "an address is longer than 2048 bytes, or has characters that none may have")
        }
        let schemeLength = text.utf8.starts(with: "https://".utf8) ? 8 : text.utf8.starts(with: "http://".utf8) ? 7 : 0
        let authority = text.utf8.dropFirst(schemeLength).prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        guard schemeLength > 0, let host = WebAddress.host(Array(authority)) else {
            throw TokenKeepError(.invalid, "\(text) is not the address of a server", hint: "write https://HOST/PATH")
        }
        guard schemeLength == 8 || host == "127.0.0.1" || host == "[::1]" else {
            throw TokenKeepError(
                .invalid, "\(text) is not https", hint: "http is for 127.0.0.1 and [::1] alone, written as numbers")
        }
        self.text = text
        origin = String(decoding: text.utf8.prefix(schemeLength + authority.count), as: UTF8.self)
    }

    /// Whether RFC 3986 allows a character in an address. `#` is refused, because a request has no fragment.
    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x21, 0x24...0x3B, 0x3D, 0x3F...0x5B, 0x5D, 0x5F, 0x61...0x7A, 0x7E: true
        default: false
        }
    }

    /// The host in an authority; nil if the authority is malformed or contains a user name.
    private static func host(_ authority: [UInt8]) -> String? {
        var host = authority[...]
        var port: ArraySlice<UInt8>?
        if let colon = authority.lastIndex(of: UInt8(ascii: ":")), authority.last != UInt8(ascii: "]") {
            host = authority[..<colon]
            port = authority[(colon + 1)...]
        }
        if let port {
            guard port.count <= 5, port.allSatisfy(isDigit), let number = Int(String(decoding: port, as: UTF8.self)),
                (1...65535).contains(number)
            else { return nil }
        }
        guard host.count <= 255, let first = host.first else { return nil }
        if first == UInt8(ascii: "[") {
            guard host.last == UInt8(ascii: "]"), host.count > 3,
                host.dropFirst().dropLast().allSatisfy({ isHexadecimal($0) || $0 == UInt8(ascii: ":") })
            else { return nil }
        } else {
            guard first != UInt8(ascii: "."),
                host.allSatisfy({ isLetter($0) || isDigit($0) || $0 == 0x2D || $0 == 0x2E })
            else { return nil }
        }
        return String(decoding: host, as: UTF8.self)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }
    private static func isHexadecimal(_ byte: UInt8) -> Bool { isDigit(byte) || (0x61...0x66).contains(byte | 0x20) }
}
