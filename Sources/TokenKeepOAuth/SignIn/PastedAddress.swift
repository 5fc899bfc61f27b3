import TokenKeepCore

/// Extracts the redirect address from pasted text. It may be in quotes or angle brackets, broken by line ends, without
/// its beginning, or pasted in two parts.
struct PastedAddress {
    private let redirect: String
    /// The address of the authorization request. If the user pastes it by mistake, the error says so.
    private let address: String
    private let state: SecretBytes
    /// The pasted beginning of an address that was cut off; nil if the last pasted text was not cut off.
    private var firstPart: SecretBytes?

    init(of request: AuthorizationRequest) {
        (redirect, address, state) = (request.redirect, request.address, request.state)
    }

    /// Reads a pasted text. Together with an earlier first part, it must contain the whole answer, with the state of
    /// this sign-in.
    ///
    /// - Throws: ``Status/denied`` if the text is no answer to this sign-in or is cut off; ``Status/invalid`` if the
    ///   query is malformed.
    mutating func answer(in pasted: SecretBytes) throws(TokenKeepError) -> AuthorizationAnswer {
        let text = try PastedAddress.joined(nil, pasted)
        let source = PastedText(pasted)
        // First, the address is taken to end at the first blank after the question mark, so that words after it are
        // ignored.
        if let answer = try? whole(source.address(beginning: redirect)) { return answer }
        do throws(TokenKeepError) {
            return try whole(text)
        } catch {
            let joined = try PastedAddress.joined(firstPart, pasted)
            for text in try source.candidates(text, joined, state) {
                if let answer = try? whole(text) { return answer }
            }
            firstPart = [text, joined].first(where: isCut)
            guard firstPart == nil else {
                throw TokenKeepError(
                    .denied, "the pasted address is cut off", hint: "paste the rest, or the whole address again")
            }
            throw error
        }
    }

    private func whole(_ text: SecretBytes) throws(TokenKeepError) -> AuthorizationAnswer {
        guard let query = query(of: text) else {
            guard !text.withUnsafeBytes({ $0.starts(with: address.utf8) }) else {
                throw TokenKeepError(
                    .denied, "the pasted text is the address of the sign-in itself",
                    hint: "open it in a browser, sign in, and paste the address to which the browser is sent then")
            }
            throw TokenKeepError(
                .denied, "the pasted text is not the address to which the browser was sent",
                hint: "paste the whole address, which begins with \(redirect)?: a code alone does not show who sent it")
        }
        let answer = try query.withUnsafeBytes { bytes throws(TokenKeepError) in try AuthorizationAnswer(query: bytes) }
        guard answer.belongs(to: state) else {
            throw TokenKeepError(
                .denied, "the pasted address belongs to another sign-in",
                hint: "open the address of this sign-in, and paste where the browser is sent then")
        }
        guard answer.isWhole else { throw TokenKeepError(.denied, "the answer of the sign-in has no code") }
        return answer
    }

    /// Extracts the query from a text that is the redirect address or only its query; nil for other text.
    private func query(of text: SecretBytes) -> SecretBytes? {
        text.withUnsafeBytes { bytes in
            let address = bytes.prefix { $0 != UInt8(ascii: "#") }
            guard let mark = address.firstIndex(of: UInt8(ascii: "?")) else {
                // Some servers put the answer into the fragment, after "#".
                let fragment = bytes[address.endIndex...].dropFirst()
                let answer = isPlace(address) && !fragment.isEmpty ? fragment : address
                return PastedAddress.isAnswer(answer) ? try? SecretBytes(copying: .init(rebasing: answer)) : nil
            }
            guard mark == 0 || isPlace(address[..<mark]) else { return nil }
            return try? SecretBytes(copying: .init(rebasing: address[(mark + 1)...]))
        }
    }

    /// Whether a text ends with the redirect address, with or without its scheme, or is the beginning of an HTTP
    /// request for it (`GET` and path, without the space).
    private func isPlace(_ text: Slice<UnsafeRawBufferPointer>) -> Bool {
        let address = Array(redirect.utf8.dropFirst("http://".utf8.count))
        let port = address.drop { $0 != UInt8(ascii: ":") }
        let path = address.drop { $0 != UInt8(ascii: "/") }
        let request = Array("GET".utf8) + (path.isEmpty ? [UInt8(ascii: "/")] : path)
        // A final "/" is ignored, because the browser adds it to a redirect address without a path.
        return text.elementsEqual(request)
            || [address, Array("localhost".utf8) + port].contains {
                text.suffix($0.count).elementsEqual($0)
                    || text.last == UInt8(ascii: "/") && text.dropLast().suffix($0.count).elementsEqual($0)
            }
    }

    /// Whether a text is a query with all fields of an answer: a state, and a code or an error.
    private static func isAnswer(_ query: Slice<UnsafeRawBufferPointer>) -> Bool {
        let names = query.split(separator: UInt8(ascii: "&")).map { $0.prefix { $0 != UInt8(ascii: "=") } }
        let has = { (name: String) in names.contains { $0.elementsEqual(name.utf8) } }
        return has("state") && (has("code") || has("error"))
    }

    /// Whether a text is the incomplete beginning of an answer to this sign-in.
    private func isCut(_ text: SecretBytes) -> Bool {
        text.withUnsafeBytes { bytes in
            let start = Array((redirect + "?").utf8)
            guard bytes.count > start.count else { return !bytes.isEmpty && start.starts(with: bytes) }
            guard bytes.starts(with: start) else { return false }
            let fields = bytes[start.count...].split(separator: UInt8(ascii: "&"))
            guard let found = fields.first(where: { $0.starts(with: "state=".utf8) }) else { return true }
            let isLast = found.startIndex == fields.last?.startIndex
            return isLast && state.withUnsafeBytes { $0.starts(with: found.dropFirst("state=".utf8.count)) }
        }
    }

    /// Appends a text to the first part, without characters that are not allowed in addresses: spaces, line ends,
    /// quotes, angle brackets, and escapes of shells and terminals.
    static func joined(_ first: SecretBytes?, _ text: SecretBytes) throws(TokenKeepError) -> SecretBytes {
        var length = 0
        let whole = try SecretBytes(count: (first?.count ?? 0) + text.count) { bytes in
            first?.withUnsafeBytes { bytes.copyBytes(from: $0) }
            length = first?.count ?? 0
            text.withUnsafeBytes { copy($0, to: bytes, &length) }
        }
        return try whole.prefix(length)
    }

    private static func copy(
        _ text: UnsafeRawBufferPointer, to bytes: UnsafeMutableRawBufferPointer, _ length: inout Int
    ) {
        var rest = text[...]
        while let byte = rest.popFirst() {
            if byte == 0x1B {
                // Terminals enclose a pasted text in ESC [ 2 0 0 ~ and ESC [ 2 0 1 ~.
                rest = rest.dropFirst().drop { !(0x40...0x7E).contains($0) }.dropFirst()
                continue
            }
            if byte == UInt8(ascii: "&"), rest.starts(with: "amp;".utf8) { rest = rest.dropFirst(4) }
            guard (0x21...0x7E).contains(byte), !"\"'`<>\\".utf8.contains(byte) else { continue }
            bytes[length] = byte
            length += 1
        }
    }

}
