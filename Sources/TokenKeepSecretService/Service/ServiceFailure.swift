import TokenKeepCore

/// Makes the errors for replies that are not answers.
enum ServiceFailure {
    /// The error for a failed request. `action` is a verb such as "load" or "save".
    static func error(_ reply: Reply, _ action: String, _ subject: String) -> TokenKeepError {
        switch reply {
        case .error(let name): named(name, action, subject)
        case .disconnected:
            TokenKeepError(.unavailable, "the Secret Service went away; could not \(action) \(subject)")
        case .malformed, .answer:
            TokenKeepError(
                .corrupt, "the Secret Service answered with a malformed message; could not \(action) \(subject)")
        }
    }

    static func locked(_ subject: String) -> TokenKeepError {
        TokenKeepError(
            .locked, "the keyring that holds \(subject) is locked",
            hint: "unlock the keyring (gnome-keyring: tokenkeep unlock --keyring), or allow prompts (--interactive)")
    }

    static func asksBeforeDeleting(_ subject: String) -> TokenKeepError {
        var error = TokenKeepError(
            .locked, "the Secret Service asks its user before it deletes \(subject)",
            hint: "allow prompts (--interactive)")
        error.asksBeforeDeleting = true
        return error
    }

    private static func named(_ name: String, _ action: String, _ subject: String) -> TokenKeepError {
        let words = "could not \(action) \(subject): the Secret Service answered \(name)"
        return switch name {
        case "org.freedesktop.Secret.Error.IsLocked": locked(subject)
        case "org.freedesktop.DBus.Error.AccessDenied", "org.freedesktop.DBus.Error.AuthFailed":
            TokenKeepError(.denied, words)
        case _ where Reply.error(name).isLoss:
            TokenKeepError(.unavailable, "the Secret Service went away; could not \(action) \(subject)")
        default: TokenKeepError(.io, words)
        }
    }
}
