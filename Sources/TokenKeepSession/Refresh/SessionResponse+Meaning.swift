package import TokenKeepCore

/// Determines what the body of an answer is: a web page, an error, or the answer to a revocation.
extension SessionResponse {
    /// Whether the body is a web page (HTML), which a portal or a proxy may have sent instead of the server.
    package var isPage: Bool { SessionResponse.isPage(body) }

    /// The beginnings of HTML pages, in lower case.
    private static let pages = ["<!doctype html", "<html"]
    /// The number of bytes at the beginning of a body in which the beginning of an HTML page is searched.
    private static let pageLength = 4096

    package static func isPage(_ body: SecretBytes) -> Bool {
        let beginning = try? body.withUnsafeBytes { bytes throws(TokenKeepError) in
            try AnswerText.utf8(UnsafeRawBufferPointer(rebasing: bytes.prefix(pageLength)))
        }
        return beginning?.withUnsafeBytes { bytes in
            let text = bytes.drop { $0 <= 0x20 }
            return pages.contains { page in
                text.prefix(page.utf8.count).lazy.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
                    .elementsEqual(page.utf8)
            }
        } ?? false
    }

    /// Whether the body is an object or a form that reports an error, and has no tokens. Some servers send errors with
    /// status 200.
    package var hasError: Bool {
        guard let json = body.withUnsafeBytes({ JSONValue.answer($0) }), json["access_token"] == nil,
            json["refresh_token"] == nil
        else { return false }
        return json["error"]?.isObject == true || ServerWords.code(json, inObject: [])?.isEmpty == false
    }

    /// Whether the answer to a revocation says that the token is invalid now: any success (RFC 7009 section 2.2), or
    /// the error `invalid_token`, which Google sends for a token that is already invalid.
    package var saysRevoked: Bool {
        if (200..<300).contains(status) { return !isPage && !hasError }
        return status == 400
            && body.withUnsafeBytes({ JSONValue.answer($0) }).flatMap { ServerWords.code($0, inObject: []) }
                == "invalid_token"
    }
}
