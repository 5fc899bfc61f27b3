import TokenKeepCore

/// Checks git's credential helpers, with the settings that git itself reads.
struct GitCheck {
    /// The exit code of git if git does not know an option.
    private static let usage: Int32 = 129

    private let deadline = AskedProgram.deadline

    func findings() -> [Finding] {
        let hint = "git config --list --show-origin"
        switch AskedProgram.run(
            "git",
            [
                "--no-pager", "config", "--show-scope", "--show-origin", "--null", "--get-regexp",
                "^credential\\..*helper$|^credential\\.helper$",
            ], until: deadline)
        {
        case .absent: return []
        case .failed(let error):
            return [
                .problem(
                    "helpers", "git config: \(error.message)", because: "git itself cannot read its settings.",
                    hint: hint)
            ]
        case .ended(GitCheck.usage, _):
            return [
                .note(
                    "helpers", "git is older than 2.26",
                    because: "Such a git does not say where its settings are from.",
                    hint: "git config --get-all credential.helper")
            ]
        case .ended(let code, _) where code > 1:
            return [
                .problem(
                    "helpers", "git cannot read its settings", because: "git itself ends at each command.", hint: hint)
            ]
        case .ended(_, let output):
            let settings = GitSetting.list(output)
            return [general(settings.filter { $0.address == nil })] + ofAddresses(settings)
        }
    }

    private func general(_ settings: [GitSetting]) -> Finding {
        // git ignores the helpers that precede an empty value.
        let last = settings.lastIndex { $0.helper.isEmpty }
        let helpers = settings[(last.map { $0 + 1 } ?? 0)...]
        guard let first = helpers.first else {
            return .note(
                "helpers", "git has no helper", because: "It asks for a password at every fetch and push.",
                hint: "tokenkeep setup git")
        }
        let list = helpers.map { "\($0.shownHelper) (\($0.origin))" }.joined(separator: ", then ")
        if helpers.contains(where: \.isStore) {
            return .problem(
                "helpers", "git uses \(list)", because: "store writes every password into a plain file.",
                hint: "tokenkeep setup git")
        }
        guard first.isOurs else {
            return .note(
                "helpers", "git uses \(list)",
                because: "The helper decides where passwords are, and whether expiry dates are kept.",
                hint: "tokenkeep setup git")
        }
        return ours(first, list)
    }

    /// Runs TokenKeep's helper as git does, but only if the user or the system, not a repository, configured the
    /// helper.
    private func ours(_ setting: GitSetting, _ list: String) -> Finding {
        guard setting.isOfUser else {
            return .note(
                "helpers", "git uses \(list), which was not tried",
                because: "doctor runs no helper that a repository names.", hint: "tokenkeep setup git")
        }
        guard let command = setting.command else {
            return .note(
                "helpers", "git uses \(list), which was not tried",
                because: "It is a command for the shell, and doctor runs none.", hint: "tokenkeep setup git")
        }
        let answer = AskedProgram.run(command[0], command.dropFirst() + ["capability"], until: deadline)
        if case .ended(exitCode: 0, _) = answer { return .ok("helpers", "git uses \(list)") }
        return .problem(
            "helpers", "git uses \(list), and cannot run it",
            because: "git asks for a password at every fetch and push, and keeps none.",
            hint: "command -v git-credential-tokenkeep")
    }

    private func ofAddresses(_ settings: [GitSetting]) -> [Finding] {
        settings.filter { $0.address != nil && !$0.helper.isEmpty && !$0.isOurs }.map { setting in
            let address = ShownSetting.address(setting.address ?? "")
            let message = "git uses \(setting.shownHelper) for \(address) (\(setting.origin))"
            guard setting.isStore else {
                return .note(
                    "helpers", message, because: "For this address git asks this helper, too.", hint: setting.removal)
            }
            return .problem(
                "helpers", message, because: "store writes every password into a plain file.",
                hint: setting.removal)
        }
    }
}
