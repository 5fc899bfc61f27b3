import TokenKeepTerminal

/// A setting of git: `credential.helper` or, for one address, `credential.ADDRESS.helper`.
struct GitSetting {
    /// The scope of the setting: `system`, `global`, `local`, `worktree`, or `command` for the environment.
    private let scope: String
    /// The file that contains the setting, in the form that git prints.
    let origin: String
    /// The address in the setting's name; nil for `credential.helper`.
    let address: String?
    let helper: String

    /// Parses git's output: for each setting scope, NUL, origin, NUL, name, line feed, value, NUL. A name without a
    /// value has no line feed.
    static func list(_ output: String) -> [GitSetting] {
        let parts = output.split(separator: "\0" as Character, omittingEmptySubsequences: false)
        return stride(from: 0, to: parts.count - 2, by: 3).map { index in
            let pair = parts[index + 2].split(separator: "\n" as Character, maxSplits: 1)
            let name = (pair.first ?? "").dropFirst("credential.".count)
            let address = name == "helper" ? nil : String(name.dropLast(".helper".count))
            return GitSetting(
                scope: String(parts[index]), origin: String(parts[index + 1]), address: address,
                helper: pair.count > 1 ? String(pair[1]) : "")
        }
    }

    /// Whether the user or the system made the setting. Any other setting may come from somebody else's repository.
    var isOfUser: Bool { ["system", "global", "command"].contains(scope) }

    /// Whether the helper is a command for the shell, which begins with `!`.
    private var isCommand: Bool { helper.hasPrefix("!") }

    /// The first word of the helper, without `!`.
    private var word: String { words.first ?? "" }

    private var words: [String] {
        helper.drop { $0 == "!" }.split(whereSeparator: \.isWhitespace).map(String.init)
    }

    /// Whether the helper is TokenKeep's, by its name.
    var isOurs: Bool {
        let programs = ["git-credential-tokenkeep", "tokenkeep-credential"]
        // git prepends git-credential- to a name that is neither a path nor a command.
        guard isCommand || word.hasPrefix("/") else { return word == "tokenkeep" }
        return word.split(separator: "/" as Character).last.map { programs.contains(String($0)) } ?? false
    }

    /// Whether the helper keeps passwords in a file without encryption: git's `store`, by its name, its path or a command.
    var isStore: Bool {
        guard isCommand || word.hasPrefix("/") else { return word == "store" }
        return helper.split { !$0.isLetter && $0 != "-" }.contains {
            ["git-credential-store", "credential-store"].contains($0)
        }
    }

    /// The helper in a form for messages. Arguments are shown only for TokenKeep's own helper, because arguments of
    /// others may contain a secret.
    var shownHelper: String { isOurs && command != nil ? helper : ShownSetting.helper(helper) }

    /// The program and its arguments, as git runs them; nil if only a shell can interpret the helper.
    ///
    /// For a helper NAME, this is the program `git-credential-NAME` and not git, because a repository may define an
    /// alias of git with the program's name.
    var command: [String]? {
        guard let first = words.first, words.allSatisfy(ShellWord.isPlain) else { return nil }
        guard isCommand || first.hasPrefix("/") else { return ["git-credential-\(first)"] + words.dropFirst() }
        guard first.hasPrefix("/") || !first.contains("/") else { return nil }
        return words
    }

    /// The command that removes the setting.
    var removal: String {
        guard scope != "command" else { return "env | grep GIT_CONFIG" }
        // The name of the setting contains the whole address. If a part of the address must not be shown, the user
        // edits the file instead.
        if let address, ShownSetting.address(address) != address { return "git config \(place) --edit" }
        let name = ShellWord.quoted("credential.\(address.map { $0 + "." } ?? "")helper")
        return "git config --unset-all \(place) \(name)"
    }

    /// The option of `git config` that names the file of the setting. Of the user's files, `--global` changes one alone.
    private var place: String {
        let file = "file:"
        guard scope == "global", origin.hasPrefix(file), let home = try? ToolPlaces.home(),
            origin != "\(file)\(home)/.gitconfig"
        else { return "--\(scope)" }
        return "--file \(ShellWord.quoted(String(origin.dropFirst(file.count))))"
    }
}
