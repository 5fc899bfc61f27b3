import TokenKeepCore
import TokenKeepSession
import TokenKeepTerminal

/// The credential helper of docker, podman and skopeo: `store`, `get`, `erase`, `list`, `version`.
///
/// A failure has exit code 1 and its message on standard output, where docker reads the message.
enum DockerHelper {
    private static let prefix = "docker:"

    // docker compares messages with these texts.
    private static let notFound = TokenKeepError(.notFound, "credentials not found in native keychain")
    private static let noServer = TokenKeepError(.invalid, "no credentials server URL")
    private static let noUsername = TokenKeepError(.invalid, "no credentials username")

    /// Reads docker's request and writes the answer.
    static func run(_ invocation: inout Invocation) throws {
        let operation = try invocation.requiredWord("the operation")
        switch operation {
        case "version":
            try Terminal.write("docker-credential-tokenkeep (tokenkeep) v\(TokenKeepVersion.string)\n")
        case "store": try store(JSONRequest.read(RequestInput.all()), CredentialStore(invocation))
        case "get": try get(server(), CredentialStore(invocation))
        case "erase": _ = try CredentialStore(invocation).signOut(prefix + server())
        case "list": try list(CredentialStore(invocation))
        default: throw TokenKeepError(.invalid, "docker's helper has no operation \(operation)")
        }
    }

    /// Reads the server's address from standard input, and removes white space around the address.
    private static func server() throws(TokenKeepError) -> String {
        let input = try RequestInput.all()
        let text = input.withUnsafeBytes { bytes in
            let isSpace = { (byte: UInt8) in byte == 0x20 || 0x09...0x0D ~= byte }
            let start = bytes.firstIndex { !isSpace($0) } ?? bytes.endIndex
            let end = bytes.lastIndex { !isSpace($0) }.map { $0 + 1 } ?? start
            return String(checking: UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
        }
        guard let text else { throw TokenKeepError(.invalid, "the server's address is not UTF-8") }
        guard !text.isEmpty else { throw noServer }
        return text
    }

    /// Saves a credential and removes those of the server's other accounts, because docker has only one account for each
    /// server.
    private static func store(_ request: JSONValue, _ items: CredentialStore) throws(TokenKeepError) {
        guard let server = try request.string("ServerURL"), !server.isEmpty else { throw noServer }
        guard let username = try request.string("Username"), !username.isEmpty else { throw noUsername }
        guard let secret = try request.secretString("Secret") else {
            throw TokenKeepError(.invalid, "the request has no Secret")
        }
        let before = items.details(of: prefix + server)
        try items.save(secret, of: prefix + server, username)
        // The credential is saved, so the store must not fail because a module cannot remove the other accounts now.
        try? items.signOut(prefix + server, otherThan: username, before: before)
    }

    private static func get(_ server: String, _ items: CredentialStore) throws {
        guard let found = try items.credential(of: prefix + server, nil) else { throw notFound }
        try found.checkNotExpired(hint: "sign in again: docker login")
        guard !found.account.isEmpty else { throw noUsername }
        let answer = try JSONValue.object()
        try answer.set("ServerURL", server)
        try answer.set("Username", found.account)
        try answer.set("Secret", found.secret)
        try JSONRequest.write(answer)
    }

    private static func list(_ items: CredentialStore) throws {
        let answer = try JSONValue.object()
        // Set the newest account of each server last, because a later value replaces an earlier value.
        for details in try items.details(ofServicesWith: prefix).sorted(by: SaveOrder.isNewer).reversed() {
            try answer.set(String(details.name.service.dropFirst(prefix.count)), details.name.account)
        }
        try JSONRequest.write(answer)
    }
}
