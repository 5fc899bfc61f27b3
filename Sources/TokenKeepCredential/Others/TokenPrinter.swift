import TokenKeepCore
import TokenKeepTerminal

/// `token REFERENCE`: prints one token and a line feed, for programs that run a command to get a token.
enum TokenPrinter {
    /// Prints the token that the first argument names.
    static func run(_ invocation: inout Invocation) throws {
        let reference = try ItemReference(invocation.requiredWord("the reference"), of: "the argument")
        // Further arguments are ignored, because pnpm and others add arguments of their own.
        let namespace = reference.name.namespace
        let items = try CredentialStore(invocation, namespace: namespace.isEmpty ? nil : namespace)
        let (service, account) = (reference.name.service, reference.name.account)
        guard let found = try items.credential(of: service, account) else {
            let title = account.isEmpty ? service : reference.name.description
            throw TokenKeepError(.notFound, "\(title) is not there", hint: "tokenkeep save keeps one")
        }
        try found.checkNotExpired(hint: "save a new one: tokenkeep save")
        try found.checkOneLine()
        var text = SecretText()
        text.append(found.secret)
        text.append("\n")
        try text.write()
    }
}
