import TokenKeepCore

/// The check of git's credential helpers, as git itself reads them.
struct GitCheck {
    /// A setting `credential.helper`, or that of an address.
    private struct Setting {
        /// The address; nil for the setting of all addresses.
        let address: String?
        let helper: String
        let origin: String
    }

    /// Helpers that keep passwords in a file without encryption.
    private static let plain: Set = ["store"]

    func findings() -> [Finding] {
        switch AskedProgram.run(
            "git",
            ["config", "--show-origin", "--null", "--get-regexp", "^credential\\..*helper$|^credential\\.helper$"])
        {
        case .absent: return []
        case .failed(let error):
            return [
                .problem(
                    "helpers", "git config: \(error.message)", because: "git itself cannot read its settings.",
                    hint: "git config --list --show-origin")
            ]
        case .ended(let code, _) where code > 1:
            return [
                .problem(
                    "helpers", "git cannot read its settings", because: "git itself ends at each command.",
                    hint: "git config --list --show-origin")
            ]
        case .ended(_, let output):
            let settings = GitCheck.settings(output)
            return [general(settings.filter { $0.address == nil })] + ofAddresses(settings)
        }
    }

    /// Reads git's list: origin, NUL, name, line feed, value, NUL. A name without a value has no line feed.
    private static func settings(_ output: String) -> [Setting] {
        let parts = output.split(separator: "\0" as Character, omittingEmptySubsequences: false)
        return stride(from: 0, to: parts.count - 1, by: 2).map { index in
            let pair = parts[index + 1].split(separator: "\n" as Character, maxSplits: 1)
            let name = (pair.first ?? "").dropFirst("credential.".count)
            let address = name == "helper" ? nil : String(name.dropLast(".helper".count))
            return Setting(
                address: address, helper: pair.count > 1 ? String(pair[1]) : "", origin: String(parts[index]))
        }
    }

    private func general(_ settings: [Setting]) -> Finding {
        // An empty value makes git forget the helpers before it.
        let last = settings.lastIndex { $0.helper.isEmpty }
        let helpers = settings[(last.map { $0 + 1 } ?? 0)...]
        guard let first = helpers.first else {
            return .note(
                "helpers", "git has no helper", because: "It asks for a password at every fetch and push.",
                hint: "tokenkeep setup git")
        }
        let list = helpers.map { "\($0.helper) (\($0.origin))" }.joined(separator: ", then ")
        if let store = helpers.first(where: { GitCheck.plain.contains(GitCheck.word($0.helper)) }) {
            return .problem(
                "helpers", "git uses \(list)",
                because: "\(store.helper) writes every password into a plain file.", hint: "tokenkeep setup git")
        }
        guard GitCheck.isOurs(first.helper) else {
            return .note(
                "helpers", "git uses \(list)",
                because: "The helper decides where passwords are, and whether expiry dates are kept.",
                hint: "tokenkeep setup git")
        }
        return ours(first, list)
    }

    /// Runs our helper as git does.
    private func ours(_ setting: Setting, _ list: String) -> Finding {
        let words = setting.helper.split(whereSeparator: \.isWhitespace).map(String.init)
        let answer =
            setting.helper.hasPrefix("/")
            ? AskedProgram.run("sh", ["-c", "\(setting.helper) capability"])
            : AskedProgram.run("git", ["credential-\(words[0])"] + words.dropFirst() + ["capability"])
        if case .ended(exitCode: 0, _) = answer { return .ok("helpers", "git uses \(list)") }
        return .problem(
            "helpers", "git uses \(list), and cannot run it",
            because: "git asks for a password at every fetch and push, and keeps none.",
            hint: "command -v git-credential-tokenkeep")
    }

    private func ofAddresses(_ settings: [Setting]) -> [Finding] {
        let addresses = settings.filter { $0.address != nil && !$0.helper.isEmpty && !GitCheck.isOurs($0.helper) }
        return addresses.map { setting in
            let address = setting.address ?? ""
            let isPlain = GitCheck.plain.contains(GitCheck.word(setting.helper))
            let message = "git uses \(setting.helper) for \(address) (\(setting.origin))"
            let hint = "git config --unset-all \(GitCheck.scope(setting.origin))credential.\(address).helper"
            return isPlain
                ? .problem(
                    "helpers", message, because: "\(setting.helper) writes every password into a plain file.",
                    hint: hint)
                : .note("helpers", message, because: "For this address git asks this helper, too.", hint: hint)
        }
    }

    private static func scope(_ origin: String) -> String {
        origin.hasPrefix("file:/etc/") ? "--system " : origin.hasPrefix("file:.git/") ? "" : "--global "
    }

    private static func word(_ helper: String) -> String {
        helper.split(whereSeparator: \.isWhitespace).first.map(String.init) ?? ""
    }

    private static func isOurs(_ helper: String) -> Bool {
        let name = word(helper).split(separator: "/" as Character).last
        return ["tokenkeep", "git-credential-tokenkeep", "tokenkeep-credential"].contains(name.map(String.init))
    }
}
