import TokenKeepCore
import TokenKeepSession

/// Parses the output of the command of `--exec`, which contains the server's answer.
enum SessionAnswer {
    /// Parses an output that is a body, or a status line, headers and a body as `curl -i` prints them.
    ///
    /// - Throws: ``Status/io`` if the output has no status line and the status cannot be guessed from the body.
    static func parse(_ output: SecretBytes, _ purpose: SessionRequest.Purpose) throws(TokenKeepError)
        -> SessionResponse
    {
        var start = 0
        var status: Int?
        var headers: [(name: String, value: String)] = []
        // curl prints the answers of proxies and redirects before the final answer.
        while let block = head(of: output, from: start) {
            start = block.end
            status = block.status
            headers = block.headers
        }
        let body = try output.withUnsafeBytes { bytes throws(TokenKeepError) in
            try SecretBytes(copying: UnsafeRawBufferPointer(rebasing: bytes[start...]))
        }
        let known = if let status { status } else { try guess(body, purpose) }
        return SessionResponse(status: known, headers: headers, body: body)
    }

    /// Guesses the status of an answer that was printed without its status line.
    private static func guess(
        _ body: SecretBytes, _ purpose: SessionRequest.Purpose
    ) throws(TokenKeepError) -> Int {
        let json = body.withUnsafeBytes { JSONValue.answer($0) }
        if json?["access_token"] == nil, json?["error"] != nil { return 400 }
        switch purpose {
        case .refresh, .revoke: return 200
        case .extend where json?["access_token"] != nil || json?["expires_in"] != nil: return 200
        case .validate, .extend:
            throw TokenKeepError(
                .io, "the command of --exec printed no status line for the purpose \(purpose.word)",
                hint: "print status line, headers and body, as curl -i does")
        }
    }

    /// Parses a status line and headers from `start` on; nil if there are none.
    private static func head(
        of output: SecretBytes, from start: Int
    ) -> (status: Int, headers: [(name: String, value: String)], end: Int)? {
        output.withUnsafeBytes { bytes in
            guard bytes[start...].starts(with: "HTTP/".utf8) else { return nil }
            var headers: [(name: String, value: String)] = []
            var status: Int?
            var position = start
            while let newline = bytes[position...].firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: bytes[position..<newline].filter { $0 != 13 }, as: UTF8.self)
                position = newline + 1
                if line.isEmpty { return status.map { ($0, headers, position) } }
                if status == nil {
                    let words = line.split(separator: " ")
                    guard words.count > 1, let number = Int(words[1]), (100...999).contains(number) else { return nil }
                    status = number
                } else if let colon = line.firstIndex(of: ":") {
                    let value = line[line.index(after: colon)...].drop { $0 == " " }
                    headers.append((String(line[..<colon]), String(value)))
                }
            }
            return nil
        }
    }
}
