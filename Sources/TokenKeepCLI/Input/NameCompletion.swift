import ArgumentParser
import TokenKeepCore
import TokenKeepEngine
import TokenKeepSession

/// Completes services and accounts in the shell. Never prompts the user. Offers no names while the vault or a keyring
/// is locked.
enum NameCompletion {
    static let services = CompletionKind.custom { words, index, prefix in
        candidates(CompletedLine(words, index).items().map(\.service), prefix)
    }

    static let accounts = CompletionKind.custom { words, index, prefix in
        let line = CompletedLine(words, index)
        return candidates(line.items().filter { $0.service == line.service }.map(\.account), prefix)
    }

    static let sessionServices = CompletionKind.custom { words, index, prefix in
        candidates(CompletedLine(words, index).sessions().map(\.service), prefix)
    }

    static let sessionAccounts = CompletionKind.custom { words, index, prefix in
        let line = CompletedLine(words, index)
        return candidates(line.sessions().filter { $0.service == line.service }.map(\.account), prefix)
    }

    /// Makes a completion that offers the names that `names` finds in the store of the command line.
    static func completing(_ names: @escaping @Sendable (Store, CompletedLine) -> [String]) -> CompletionKind {
        .custom { words, index, prefix in
            let line = CompletedLine(words, index)
            return candidates(line.store().map { names($0, line) } ?? [], prefix)
        }
    }

    /// Returns the names that begin with `prefix` and need no quoting in a shell, sorted.
    private static func candidates(_ names: [String], _ prefix: String) -> [String] {
        let found = Set(names).filter { name in
            // A command would treat a name that begins with a hyphen as an option.
            name.hasPrefix(prefix) && !name.isEmpty && !name.hasPrefix("-")
                && !name.contains { $0.isWhitespace || "'\"\\$`;&|<>()*?[]{}!~#=^".contains($0) }
                && Terminal.printable(name) == name
        }.sorted()
        // zsh treats the text after a colon as a description.
        return CompletionShell.requesting == .zsh ? found.map { $0.replacing(":", with: "\\:") } : found
    }
}

/// The words on the shell's command line that precede the completed word.
struct CompletedLine {
    /// The time limit, in milliseconds, of a completion. A person does not wait longer after a key press.
    private static let limit: UInt32 = 2_000

    private let words: [String]

    fileprivate init(_ words: [String], _ index: Int) {
        let before = Array(words.prefix(max(0, index)))
        // bash and zsh pass words as they were typed, with quotation marks and backslashes.
        self.words = CompletionShell.requesting == .fish ? before : before.map(CompletedLine.unquoted)
    }

    /// Converts a typed word to the word that the shell passes to a command: without quotation marks and backslashes.
    private static func unquoted(_ typed: String) -> String {
        var word = ""
        var quote: Character?
        var isEscaped = false
        for character in typed {
            if isEscaped {
                word.append(character)
                isEscaped = false
            } else if character == "\\", quote != "'" {
                isEscaped = true
            } else if character == quote {
                quote = nil
            } else if quote == nil, character == "'" || character == "\"" {
                quote = character
            } else {
                word.append(character)
            }
        }
        return word
    }

    /// The word before the completed word.
    var service: String { words.last ?? "" }

    /// The value of the last option with that name; nil if the option is absent.
    func value(of option: String) -> String? {
        for (index, word) in words.enumerated().reversed() {
            if word == option, index + 1 < words.count { return words[index + 1] }
            if word.hasPrefix(option + "=") { return String(word.dropFirst(option.count + 1)) }
        }
        return nil
    }

    fileprivate func store() -> Store? {
        var configuration = StoreConfiguration(namespace: value(of: "--namespace") ?? "")
        if let stack = value(of: "--stack") {
            if stack.contains(where: \.isWhitespace) {
                configuration.stackText = stack
            } else {
                configuration.stack = stack
            }
        }
        configuration.timeoutMilliseconds = CompletedLine.limit
        return try? Store(configuration)
    }

    fileprivate func items() -> [(service: String, account: String)] {
        guard let listing = try? store()?.list(), !listing.problems.contains(where: { $0.status == .locked }) else {
            return []
        }
        return listing.items.map { (service: $0.name.service, account: $0.name.account) }
    }

    fileprivate func sessions() -> [(service: String, account: String)] {
        guard let store = store(), let listing = try? Sessions(store).list(), listing.problem?.status != .locked else {
            return []
        }
        return listing.sessions.map { (service: $0.service, account: $0.account) }
    }
}
