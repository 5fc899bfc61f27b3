import TokenKeepCore
import TokenKeepSession
import TokenKeepTerminal

/// The credentials helper of terraform and OpenTofu: `get HOST`, `store HOST`, `forget HOST`.
enum TerraformHelper {
    private static let prefix = "terraform:"

    /// Reads terraform's request and writes the answer.
    static func run(_ invocation: inout Invocation) throws {
        let operation = try invocation.requiredWord("the operation")
        let host = try invocation.requiredWord("the host")
        let items = try CredentialStore(invocation)
        switch operation {
        case "get": try get(host, items)
        case "store": try store(JSONRequest.read(RequestInput.all()), host, items)
        case "forget": _ = try items.signOut(prefix + host)
        default: throw TokenKeepError(.invalid, "terraform's helper has no operation \(operation)")
        }
    }

    private static func get(_ host: String, _ items: CredentialStore) throws {
        let answer = try JSONValue.object()
        if let found = try items.credential(of: prefix + host, nil) {
            try found.checkNotExpired(hint: "sign in again: terraform login \(host)")
            try found.checkOneLine()
            try answer.set("token", found.secret)
        }
        try JSONRequest.write(answer)
    }

    /// Saves a token. Throws ``Status/unsupported`` if the object has other members, because this helper cannot store
    /// them and terraform requires a failure then.
    private static func store(_ request: JSONValue, _ host: String, _ items: CredentialStore) throws(TokenKeepError) {
        guard let token = try request.secretString("token"), request.names == ["token"] else {
            throw TokenKeepError(.unsupported, "terraform's credentials are not a token alone")
        }
        try Credential.checkOneLine(token)
        try items.save(token, of: prefix + host, "")
    }
}
