import TokenKeepCore

/// Classifies the error answers of etcd's gateway.
///
/// The answer's text decides, because one HTTP status has several meanings: 429 means a full registry or a message that
/// is too long. The texts are those of etcd 3.4 to 3.7.
package enum EtcdAnswers {
    /// Whether the request may succeed with a new authentication token.
    static func wantsNewToken(_ message: String) -> Bool {
        has(message, "invalid auth token") || has(message, "revision of auth store is old")
    }

    /// The hint for the user if a server that is not a registry answered.
    static let addressHint = "check the address: an endpoint is that of etcd's clients"

    /// The prefixes by which error messages of etcd and of its gateway are recognised.
    private static let ownWords = [
        "etcdserver: ", "grpc: ", "rpc error: ", "auth: ", "authentication is not enabled", "CommonName of client",
    ]

    /// Whether the error concerns this endpoint alone, so that another endpoint may succeed.
    static func isOutage(_ status: UInt32, _ message: String) -> Bool {
        (status >= 500 && !has(message, "database space exceeded")) || isForeign(status, message)
            || has(message, "request timed out") || has(message, "no leader") || has(message, "too many requests")
    }

    /// Whether the cluster has lost its leader, and is electing another.
    static func isElection(_ message: String) -> Bool { has(message, "leader changed") || has(message, "no leader") }

    /// Whether an error was sent by another server than etcd's client port: its peer port, a wrong path, or a captive
    /// portal.
    private static func isForeign(_ status: UInt32, _ message: String) -> Bool {
        status < 500 && !ownWords.contains { message.starts(with: $0) }
    }

    /// Converts an error answer to a failure with a message and a hint for the user.
    ///
    /// - Parameters:
    ///   - message: the server's error message; "" if the answer has none.
    ///   - server: the server's scheme, host and port.
    static func failure(_ status: UInt32, _ message: String, from server: String, isAdmin: Bool) -> RegistryFailure {
        if has(message, "CommonName of client sending") {
            return RegistryFailure(.certificate, commonName)
        }
        if has(message, "invalid user ID or password") {
            return RegistryFailure(
                .denied,
                TokenKeepError(
                    .denied, "\(server) refuses the user or the password", module: "registry",
                    hint: isAdmin
                        ? "give the password of etcd's root on standard input"
                        : "a new password comes with a join code: tokenkeep fleet join"))
        }
        if has(message, "user name is empty") {
            return RegistryFailure(
                .denied,
                TokenKeepError(
                    .denied, "\(server) wants a user and a password", module: "registry",
                    hint: "join with a code of an administrator: tokenkeep fleet join"))
        }
        if has(message, "permission denied") {
            return RegistryFailure(
                .denied,
                TokenKeepError(
                    .denied, "\(server) gives this user no right to these keys", module: "registry",
                    hint: "an administrator grants it: tokenkeep fleet admin add-user USER"))
        }
        return others(status, message, from: server)
    }

    private static func others(_ status: UInt32, _ message: String, from server: String) -> RegistryFailure {
        if has(message, "database space exceeded") {
            return RegistryFailure(
                .full,
                TokenKeepError(
                    .unavailable, "the registry at \(server) is full and takes no changes but removals",
                    module: "registry",
                    hint: "its operator: tokenkeep fleet admin prune, etcdctl defrag, etcdctl alarm disarm"))
        }
        if has(message, "lease not found") {
            return RegistryFailure(.leaseGone, TokenKeepError(.unavailable, "the lease has ended", module: "registry"))
        }
        if has(message, "has been compacted") || has(message, "future revision") {
            return RegistryFailure(.compacted, TokenKeepError(.unavailable, "the revision is gone", module: "registry"))
        }
        let words = message.isEmpty ? "" : ": \(message)"
        let kind: RegistryFailure.Kind = isOutage(status, message) ? .away : .fault
        return RegistryFailure(
            kind,
            TokenKeepError(
                .unavailable, "\(server) answered \(status)\(words)", module: "registry",
                hint: isForeign(status, message) ? addressHint : kind == .away ? "try again later" : nil))
    }

    static let commonName = TokenKeepError(
        .invalid, "the client certificate has a common name, and etcd's gateway refuses every call with it",
        module: "registry", hint: "make one without: openssl req -subj /O=fleet/OU=device …")

    /// Extracts the error message: a member of JSON, or the first line of other text. Printable ASCII, 200 bytes at
    /// most.
    package static func message(_ body: UnsafeRawBufferPointer) -> String {
        let json = WireValue(parsing: body)
        let inner = json?["error"]
        if let text = json?["message"]?.text ?? inner?["message"]?.text ?? inner?.text { return printable(text.utf8) }
        return json == nil ? printable(body.prefix { $0 != UInt8(ascii: "\n") }) : ""
    }

    static func printable(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: bytes.prefix(200).map { (0x20...0x7E).contains($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
    }

    private static func has(_ message: String, _ words: String) -> Bool { message.contains(words) }
}
