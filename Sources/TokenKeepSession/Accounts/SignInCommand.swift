package import TokenKeepCore

/// The command that signs an account in, as a user types it.
package enum SignInCommand {
    /// Makes the command.
    ///
    /// - Parameter provider: the provider of the account's session; nil or empty if the session names none.
    package static func text(_ name: ItemName, provider: String?) -> String {
        let options = name.namespace.isEmpty ? "" : " --namespace \(word(name.namespace))"
        let names = "\(word(name.service)) \(word(name.account))"
        let ofProvider = provider.flatMap { $0.isEmpty ? nil : " --provider \(word($0))" } ?? ""
        let command = "tokenkeep session \(ofProvider.isEmpty ? "begin" : "login")"
        // A name that begins with "-" would be read as an option.
        guard !name.service.hasPrefix("-"), !name.account.hasPrefix("-") else {
            return "\(command)\(ofProvider)\(options) -- \(names)"
        }
        return "\(command) \(names)\(ofProvider)\(options)"
    }

    /// A word for the user's shell, in single quotes unless every shell takes it as it is.
    package static func word(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "-")...UInt8(ascii: ":"), UInt8(ascii: "@"), UInt8(ascii: "_"), UInt8(ascii: "+"),
                UInt8(ascii: ","), UInt8(ascii: "%"):
                true
            default: false
            }
        }
        if isPlain, !text.isEmpty { return text }
        // By scalars: a quote with a combining mark is one character, and the shell still takes it as a quote.
        var quoted = "'"
        for scalar in text.unicodeScalars {
            if scalar == "'" { quoted += "'\\''" } else { quoted.unicodeScalars.append(scalar) }
        }
        return quoted + "'"
    }
}
