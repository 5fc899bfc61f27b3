import ArgumentParser
import TokenKeepCore

/// Converts messages of the argument parser to errors of the program.
enum UsageError {
    /// Makes the error for a missing command of the program or, if `group` is given, of a group of commands.
    static func missingCommand(of group: String? = nil) -> TokenKeepError {
        TokenKeepError(
            .invalid, "no command is given", hint: "see tokenkeep \(group.map { $0 + " " } ?? "")--help")
    }

    /// Converts a message of the parser to an error: one line in lower case, and a hint.
    static func make(message: String, arguments: [String]) -> TokenKeepError {
        let names = commandNames(arguments.dropFirst())
        var parts = message.split(separator: "\n").map { $0.drop { $0 == " " } }
        if let question = parts.first?.firstRange(of: ". Did you mean "), let first = parts.first {
            parts = [first[..<question.lowerBound], first[question.lowerBound...].dropFirst(2)]
        }
        let first = sentence(parts.first.map(String.init) ?? "the arguments cannot be read")
        if names == [SaveCommand.configuration.commandName] {
            let masked = masked(first)
            if masked != first { return TokenKeepError(.invalid, masked, hint: SaveCommand.secretHint) }
        }
        let rest = parts.dropFirst().joined(separator: " ")
        let help = "see \((["tokenkeep"] + names + ["--help"]).joined(separator: " "))"
        return TokenKeepError(.invalid, first, hint: rest.isEmpty ? help : sentence(rest))
    }

    /// Returns the names with which the arguments begin: the groups of commands and the command.
    private static func commandNames(_ arguments: some Sequence<String>) -> [String] {
        var command: any ParsableCommand.Type = TokenKeepCommand.self
        var names: [String] = []
        for word in arguments {
            guard let next = command.configuration.subcommands.first(where: { $0.configuration.commandName == word })
            else { break }
            names.append(word)
            command = next
        }
        return names
    }

    /// Throws ``Status/invalid`` if the arguments name an unknown command.
    ///
    /// After `help`, the parser would show the program's own help for an unknown command and end with success.
    /// Elsewhere it would report an unknown command as an argument.
    static func refuseUnknownCommand(_ arguments: [String]) throws(TokenKeepError) {
        let isHelp = arguments.first == "help"
        let words = arguments.dropFirst(isHelp ? 1 : 0).prefix { !$0.hasPrefix("-") }
        var command: any ParsableCommand.Type = TokenKeepCommand.self
        var known: [String] = []
        for word in words {
            let subcommands = command.configuration.subcommands
            guard isHelp || !subcommands.isEmpty else { return }  // the remaining words are arguments
            guard let next = subcommands.first(where: { $0.configuration.commandName == word }) else {
                let group = (["tokenkeep"] + known).joined(separator: " ")
                throw TokenKeepError(
                    .invalid, "there is no command '\((known + [word]).joined(separator: " "))'",
                    hint: "see \(group) --help")
            }
            known.append(word)
            command = next
        }
    }

    private static func sentence(_ text: String) -> String {
        let start = text.prefix(1).lowercased() + text.dropFirst()
        return start.hasSuffix(".") ? String(start.dropLast()) : start
    }

    /// Masks the quoted words of a message, because a quoted word may be a secret.
    ///
    /// Only `--option` and `<argument>` stay readable.
    private static func masked(_ message: String) -> String {
        message.replacing(/'[^']*'/) { match in
            let word = match.output.dropFirst().dropLast()
            let isHarmless = word.wholeMatch(of: /(--[a-z]{2,12}(-[a-z]{2,12}){0,2})?( ?<[a-z=]+>)?/) != nil
            return isHarmless ? match.output : "'…'"
        }
    }
}
