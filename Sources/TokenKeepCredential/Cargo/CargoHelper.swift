import TokenKeepCore
import TokenKeepSession
import TokenKeepTerminal

/// cargo's credential provider, protocol 1: reads and writes one line of JSON for each request, until cargo closes the
/// input.
enum CargoHelper {
    private static let version: Int64 = 1

    /// Answers cargo's requests until the input ends.
    static func run(_ invocation: inout Invocation) throws {
        try Terminal.write("{\"v\":[\(version)]}\n")
        var input = RequestInput()
        while let line = try input.line() {
            guard line.count > 0 else { continue }
            let answer = try JSONValue.object()
            do throws(TokenKeepError) {
                try answer.set("Ok", self.answer(to: JSONRequest.read(line, from: "cargo's request"), invocation))
            } catch {
                try answer.set("Err", failure(error))
            }
            try JSONRequest.write(answer)
        }
    }

    private static func answer(
        to request: JSONValue, _ invocation: Invocation
    ) throws(TokenKeepError) -> JSONValue {
        guard request["v"]?.integer == version else {
            throw TokenKeepError(.unsupported, "cargo speaks another version than \(version) of the protocol")
        }
        guard let registry = request["registry"], let index = try registry.string("index-url") else {
            throw TokenKeepError(.invalid, "cargo's request names no registry")
        }
        var invocation = invocation
        try invocation.read(options: request["args"]?.texts ?? [])
        let items = try CredentialStore(invocation)
        let service = "cargo:\(index)"
        let answer = try JSONValue.object()
        let kind = try request.string("kind") ?? ""
        try answer.set("kind", kind)
        switch kind {
        case "get": try get(service, items, answer)
        case "login":
            let token = try token(request, registry)
            try Credential.checkOneLine(token)
            try items.save(token, of: service, "")
        case "logout": guard try items.signOut(service) else { throw notFound }
        default: throw TokenKeepError(.unsupported, "cargo's operation is unknown", module: unknownOperation)
        }
        return answer
    }

    private static func get(
        _ service: String, _ items: CredentialStore, _ answer: JSONValue
    ) throws(TokenKeepError) {
        guard let found = try items.credential(of: service, nil) else { throw notFound }
        try found.checkNotExpired(hint: "sign in again: cargo login")
        try found.checkOneLine()
        try answer.set("token", found.secret)
        try answer.set("cache", found.expiresAt == nil ? "session" : "expires")
        if let expiresAt = found.expiresAt { try answer.set("expiration", expiresAt.rawValue) }
        try answer.set("operation_independent", try JSONValue.true())
    }

    /// The token in a login request. If the request has none, prompts the user on the terminal.
    private static func token(_ request: JSONValue, _ registry: JSONValue) throws(TokenKeepError) -> SecretBytes {
        if let token = try request.secretString("token") { return token }
        let index = try registry.string("index-url")
        let registry = try registry.string("name") ?? index ?? ""
        if let address = try request.string("login-url") {
            Terminal.explain("a token of \(registry) is to be had at \(address)")
        }
        return try HiddenInput.ask("token of \(registry): ", .token)
    }

    // MARK: Failures

    private static let notFound = TokenKeepError(.notFound, "no token of the registry is kept")
    private static let unknownOperation = "cargo"

    /// Converts a failure to the JSON object that cargo expects: a kind that the protocol defines, or the kind `other`
    /// with a message.
    private static func failure(_ error: TokenKeepError) throws(TokenKeepError) -> JSONValue {
        let answer = try JSONValue.object()
        switch error.status {
        case .notFound: try answer.set("kind", "not-found")
        case .unsupported where error.module == unknownOperation: try answer.set("kind", "operation-not-supported")
        default:
            try answer.set("kind", "other")
            try answer.set("message", Terminal.line(of: error))
            try answer.set("caused-by", try JSONValue.array())
        }
        return answer
    }
}
