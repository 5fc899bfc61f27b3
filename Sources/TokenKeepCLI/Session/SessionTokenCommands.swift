import ArgumentParser
import TokenKeepCore
import TokenKeepSession

/// `tokenkeep session token SERVICE [ACCOUNT]`.
struct SessionTokenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Write an access token that is valid, renewed if it ends soon.",
        discussion: """
            A token is renewed 5 minutes before its end, or in the last third of a shorter life. If the server cannot \
            be asked, a token that is still valid is written, with a warning if it ends before --min-ttl.

              TOKEN=$(tokenkeep session token api.example.com --exec ./refresh)
              tokenkeep session token api.example.com ann --header --exec ./refresh | curl -H @- "$URL"
              tokenkeep session token api.example.com --resource https://files.example.com --exec ./refresh

            --id-token writes the ID token in its place, which names the user to servers that ask for one; the session is \
            renewed if that token is over. --json writes an object of value, type and expires_at.

            With --resource or --scope the token is one of its own, renewed with the same refresh token. Exit codes: 1 nobody is signed in, 3 sign in again or locked, 4 the server or another process does not \
            answer, 6 the token is over and cannot be renewed.
            """.withWholeExamples)

    @OptionGroup
    var session: SessionArguments

    @Option(
        name: .customLong("min-ttl"),
        help: ArgumentHelp("The token shall last so long: 60 (seconds), 5m, 1h.", valueName: "duration"))
    var minTTL: String?

    @OptionGroup
    var target: SessionTarget

    @Flag(help: "Write an HTTP header for curl -H @-.")
    var header = false

    @Flag(name: .customLong("id-token"), help: "Write the ID token.")
    var idToken = false

    @Flag(help: "Write a JSON object.")
    var json = false

    func run() throws {
        guard !header || !json && !idToken else {
            throw TokenKeepError(.invalid, "--header excludes --json and --id-token")
        }
        let seconds =
            try minTTL.map { text throws(TokenKeepError) in try SessionText.seconds(text, of: "--min-ttl") } ?? 0
        let target = try target.named()
        let opened = try session.open()
        if idToken {
            guard target == nil else { throw TokenKeepError(.invalid, "--id-token excludes --resource and --scope") }
            let token = try SessionIDToken.fresh(of: opened, minTTL: seconds)
            if token.isShort { Terminal.warn(SessionText.short(token.secondsLeft, of: token.lifetime, seconds)) }
            return try SessionText.write(token.value, "id_token", token.expiresAt, asJSON: json)
        }
        let token = try opened.token(minTTL: seconds, for: target)
        if token.isShort { Terminal.warn(SessionText.short(token.secondsLeft, of: token.lifetime, seconds)) }
        guard json else { return try SessionText.write(token, asHeader: header) }
        let end = token.secondsLeft.map { UnixTime(UnixTime.now.rawValue + $0) }
        try SessionText.write(token.value, token.type, end, asJSON: true)
    }
}

/// `tokenkeep session refresh SERVICE [ACCOUNT]`.
struct SessionRefreshCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "refresh",
        abstract: "Renew the token now, and write the new one.",
        discussion: """
            If another process renews it meanwhile, that token is written: the server is asked once.

              tokenkeep session refresh api.example.com --exec ./refresh > /dev/null
            """.withWholeExamples)

    @OptionGroup
    var session: SessionArguments

    @Flag(help: "Write an HTTP header for curl -H @-.")
    var header = false

    func run() throws { try SessionText.write(session.open().refresh(), asHeader: header) }
}

/// `tokenkeep session rejected SERVICE [ACCOUNT]`.
struct SessionRejectedCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rejected",
        abstract: "Write a token in place of one that the server refused with 401.",
        discussion: """
            The refused token is read from standard input. If another process has renewed it already, the new one is \
            written without asking the server.

              printf %s "$TOKEN" | tokenkeep session rejected api.example.com --exec ./refresh
            """.withWholeExamples)

    @OptionGroup
    var session: SessionArguments

    @OptionGroup
    var target: SessionTarget

    @Flag(help: "Write an HTTP header for curl -H @-.")
    var header = false

    func run() throws {
        let target = try target.named()
        let opened = try session.open()
        let refused = try SecretInput.withoutNewline(SecretInput.read(for: opened.name))
        try SessionText.write(opened.rejected(refused, for: target), asHeader: header)
    }
}

/// `tokenkeep session claims SERVICE [ACCOUNT]`.
struct SessionClaimsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "claims",
        abstract: "Write the claims of the access token, which nobody has verified.",
        discussion: """
            One JSON object, if the token is a JSON Web Token. Its signature is not checked: decide nothing by it.

              tokenkeep session claims api.example.com | jq .sub
            """.withWholeExamples)

    @OptionGroup
    var session: SessionArguments

    func run() throws {
        let token = try session.open().token()
        guard let claims = UnverifiedClaims(unverified: token.value) else {
            throw TokenKeepError(
                .unsupported, "the access token is no JSON Web Token", hint: "only its server can read it")
        }
        try claims.serialized().withUnsafeBytes { try Terminal.write($0) }
        try Terminal.write("\n")
    }
}

/// The options for a token whose resource or scopes differ from those of the sign-in.
struct SessionTarget: ParsableArguments {
    @Option(help: ArgumentHelp("The resource that the token is for (RFC 8707).", valueName: "uri"))
    var resource: String?

    @Option(help: ArgumentHelp("The scopes that the token is to have, of those of the sign-in.", valueName: "scopes"))
    var scope: String?

    /// The target; nil if neither option is given.
    func named() throws(TokenKeepError) -> TokenTarget? {
        guard resource != nil || scope != nil else { return nil }
        return try TokenTarget(resource: resource, scope: scope)
    }
}

/// Reads and writes tokens and durations for the commands of sessions.
enum SessionText {
    /// The warning about a token that ends before --min-ttl.
    ///
    /// - Parameters:
    ///   - secondsLeft: the seconds until the token's end.
    ///   - lifetime: the token's whole lifetime in seconds; nil if unknown.
    ///   - wanted: the value of --min-ttl in seconds; 0 if the option is not given.
    static func short(_ secondsLeft: Int64?, of lifetime: Int64?, _ wanted: UInt32) -> TokenKeepError {
        let left = "the token ends in \(secondsLeft ?? 0) s"
        guard wanted > 0, let lifetime, lifetime <= Int64(wanted) else {
            return TokenKeepError(.expired, left, hint: "no longer one could be had: --explain says why")
        }
        return TokenKeepError(
            .expired, "\(left), and none of this server lasts for --min-ttl",
            hint: "its tokens last \(lifetime) s: ask for less")
    }

    /// Writes one line to standard output: a token or, if `asHeader` is true, an HTTP header with the token.
    static func write(_ token: SessionToken, asHeader: Bool) throws {
        if asHeader { try Terminal.write("Authorization: \(token.type) ") }
        try token.value.withUnsafeBytes { try Terminal.write($0) }
        try Terminal.write("\n")
    }

    /// Writes a token to standard output, as one line or, if `asJSON` is true, as a JSON object.
    static func write(_ token: SecretBytes, _ type: String, _ end: UnixTime?, asJSON: Bool) throws {
        let text = asJSON ? try SecretJSON(token).value : token
        if asJSON { try Terminal.write("{\n  \"value\" : ") }
        try text.withUnsafeBytes { try Terminal.write($0) }
        guard asJSON else { return try Terminal.write("\n") }
        let ends = end.map { "\"\($0.iso8601)\"" } ?? "null"
        try Terminal.write(",\n  \"type\" : \"\(type)\",\n  \"expires_at\" : \(ends)\n}\n")
    }

    /// Parses a duration in whole seconds. A number without a unit means seconds.
    static func seconds(_ text: String, of option: String) throws(TokenKeepError) -> UInt32 {
        let milliseconds = try Durations.milliseconds(text, of: option)
        guard let seconds = UInt32(exactly: milliseconds / 1000) else { throw Durations.refusal(of: option) }
        return seconds
    }
}
