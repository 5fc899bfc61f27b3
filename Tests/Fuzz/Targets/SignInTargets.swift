import TokenKeepCore
import TokenKeepOAuth

/// The readers of a sign-in: the user's file, the server's answers, and those who call the listener.
extension FuzzTarget {
    private static let issuer = "https://login.example.com"

    static func takesProvider(_ bytes: UnsafeRawBufferPointer) throws -> Bool {
        guard let text = String(validating: bytes, as: UTF8.self) else { return false }
        guard let provider = try? read(text) else { return false }
        let written =
            provider.values.map { "\($0.key.rawValue) = \($0.value.text)\n" }.joined()
            + provider.parameters.map { "parameter \($0.key) = \($0.value.text)\n" }.joined()
        let again = try read(written)
        try check(
            again.values.mapValues(\.text) == provider.values.mapValues(\.text)
                && again.parameters.mapValues(\.text) == provider.parameters.mapValues(\.text),
            "a provider differs after it was written")
        return !provider.values.isEmpty
    }

    private static func read(_ text: String) throws -> Provider {
        var provider = Provider(name: "fuzz", source: "fuzz.conf")
        try ProviderParser.read(ConfigurationFile(path: "fuzz.conf", text: text), into: &provider)
        _ = (provider.rotation, provider.secretItem)
        return provider
    }

    static func takesMetadata(_ bytes: UnsafeRawBufferPointer) throws -> Bool {
        let discovery = Discovery(issuer: try WebAddress(issuer), caFile: nil, cache: nil)
        guard let metadata = try? discovery.checked(copy(bytes)) else { return false }
        try check(metadata["issuer"]?.text == issuer, "metadata of another issuer")
        for key in ProviderKey.discoverable {
            guard let endpoint = try? discovery.endpoint(key, in: metadata) else { continue }
            try check(!endpoint.isPlain, "an endpoint without https")
        }
        return true
    }

    static func takesRedirect(_ bytes: UnsafeRawBufferPointer) throws -> Bool {
        var server = SignInServer(name: "fuzz", clientID: "client") { _, _, _ throws(TokenKeepError) in
            throw TokenKeepError(.unavailable, "nothing is asked")
        }
        server.issuer = issuer
        server.promisesIssuer = true
        guard let answer = try? AuthorizationAnswer(query: bytes), let code = try? answer.code(from: server) else {
            return false
        }
        try check(code.count > 0 && code.count <= bytes.count, "a code of \(code.count) bytes")
        return true
    }

    /// The answer to a device's request for a code, up to the step that is shown.
    static func takesDevice(_ bytes: UnsafeRawBufferPointer) throws -> Bool {
        let body = try copy(bytes)
        let server = SignInServer(name: "fuzz", clientID: "client") { _, _, _ throws(TokenKeepError) in
            HTTPResponse(status: 200, body: body)
        }
        var options = SignInOptions()
        options.flow = .device
        var shown: SignInStep?
        _ = try? SignIn.run(at: server, options, until: Deadline(milliseconds: 10_000)) { step throws(TokenKeepError) in
            shown = step
            throw TokenKeepError(.cancelled, "it was shown")
        }
        guard let shown else { return false }
        for text in [shown.address, shown.userCode ?? "", shown.completeAddress ?? ""] {
            try check(text.utf8.allSatisfy { (0x20...0x7E).contains($0) }, "a step that a terminal would obey")
        }
        let page = shown.address.prefix { $0 != "#" }
        _ = try WebAddress(page.prefix(8).lowercased() + page.dropFirst(8))
        return true
    }

    static func takesRequest(_ bytes: UnsafeRawBufferPointer) throws -> Bool {
        guard let request = try? LoopbackRequest(bytes, authority: "127.0.0.1:80", paths: ["/callback", "/start"])
        else {
            return false
        }
        try check(!request.query.contains(0x20) && request.query.count < bytes.count, "a query beyond its line")
        return true
    }
}
