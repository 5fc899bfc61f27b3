package import TokenKeepCore

/// The command with which a user signs an account in.
package enum SignInCommand {
    /// Returns the text of the command.
    ///
    /// - Parameter provider: the provider of the account's session; nil or "" if the session has none.
    package static func text(_ name: ItemName, provider: String?) -> String {
        let options = name.namespace.isEmpty ? "" : " --namespace \(word(name.namespace))"
        let names = "\(word(name.service)) \(word(name.account))"
        let ofProvider = provider.flatMap { $0.isEmpty ? nil : " --provider \(word($0))" } ?? ""
        let command = "tokenkeep session \(ofProvider.isEmpty ? "begin" : "login")"
        // The shell command would read a name that begins with "-" as an option.
        guard !name.service.hasPrefix("-"), !name.account.hasPrefix("-") else {
            return "\(command)\(ofProvider)\(options) -- \(names)"
        }
        return "\(command) \(names)\(ofProvider)\(options)"
    }

    /// Quotes a word for the user's shell. A word of characters that no shell treats specially is returned unchanged.
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
        // Compares Unicode scalars, because Swift combines a quote and a following combining mark into one Character,
        // in which the shell would still find the quote.
        var quoted = "'"
        for scalar in text.unicodeScalars {
            if scalar == "'" { quoted += "'\\''" } else { quoted.unicodeScalars.append(scalar) }
        }
        return quoted + "'"
    }
}
