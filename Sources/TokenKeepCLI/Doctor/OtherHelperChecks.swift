import TokenKeepCore
import TokenKeepSession
import TokenKeepTerminal

/// Checks the helpers of docker and Python.
enum OtherHelperChecks {
    // MARK: docker

    private static let ours = "tokenkeep"

    static func docker() -> [Finding] {
        guard let path = try? DockerSettingsFile.path(), let file = try? SettingsFile(path) else { return [] }
        guard ToolPlaces.isOnPath("docker") || file.text != nil else { return [] }
        do throws(TokenKeepError) {
            let settings = try file.text.map { text throws(TokenKeepError) in
                try DockerSettingsFile.settings(text, path)
            }
            return docker(settings, path)
        } catch {
            return [
                .problem(
                    "helpers", error.message, because: "docker itself may refuse the file.",
                    hint: "docker --config \(ShellWord.quoted(folder(of: path))) info")
            ]
        }
    }

    private static func docker(_ settings: JSONValue?, _ path: String) -> [Finding] {
        let general = settings?["credsStore"]?.text ?? ""
        let helpers = settings?["credHelpers"]
        let registries = (helpers?.names ?? []).compactMap { name in helpers?[name]?.text.map { (name, $0) } }
        // Query our helper once for all registries, because each query may last until the deadline.
        let isOurs = general == ours || registries.contains { $0.1 == ours }
        let answer =
            isOurs && ToolPlaces.isOnPath("docker-credential-\(ours)")
            ? AskedProgram.run("docker-credential-\(ours)", ["list"], until: AskedProgram.deadline) : nil
        return [docker(general, path, answer)] + registries.map { docker(registry: $0, helper: $1, path, answer) }
    }

    /// Makes the finding about a helper that docker runs for one registry instead of the general helper.
    private static func docker(
        registry: String, helper: String, _ path: String, _ answer: AskedProgram.Answer?
    ) -> Finding {
        let isAsked = DockerSettingsFile.isAsked(for: registry)
        let registry = ShownSetting.address(registry)
        guard isAsked else {
            return .problem(
                "helpers", "docker has a helper for \(registry) (\(path)), and asks by host alone",
                because:
                    "docker login passes this helper over, and may write the password into that file, in plain text.",
                hint: "grep -n credHelpers \(ShellWord.quoted(path))")
        }
        guard !helper.isEmpty else {
            return .problem(
                "helpers", "docker has an empty helper for \(registry) (\(path))",
                because: "docker login writes this registry's password into that file, in plain text.",
                hint: "grep -n credHelpers \(ShellWord.quoted(path))")
        }
        let message = "docker uses \(helper) for \(registry) (\(path))"
        let program = "docker-credential-\(helper)"
        guard ToolPlaces.isOnPath(program) else {
            return .problem(
                "helpers", "\(message), and \(program) is not on the PATH",
                because: "docker login and docker pull fail for this registry.",
                hint: "command -v \(ShellWord.quoted(program))")
        }
        guard helper == ours, let answer else {
            return .note(
                "helpers", message, because: "For this registry docker asks this helper alone.",
                hint: "\(ShellWord.quoted(program)) list")
        }
        return finding(message, of: answer)
    }

    /// Returns the directory of docker's configuration file, because docker's option --config takes a directory.
    private static func folder(of path: String) -> String {
        path.split(separator: "/" as Character).dropLast().reduce(into: "") { $0 += "/" + $1 }
    }

    private static func docker(_ helper: String, _ path: String, _ answer: AskedProgram.Answer?) -> Finding {
        guard !helper.isEmpty else {
            return .note(
                "helpers", "docker has no helper in \(path)",
                because: "docker login writes the password into that file, in plain text.",
                hint: "tokenkeep setup docker")
        }
        let program = "docker-credential-\(helper)"
        let hint = "tokenkeep setup docker"
        guard ToolPlaces.isOnPath(program) else {
            return .problem(
                "helpers", "docker uses \(helper) (\(path)), and \(program) is not on the PATH",
                because: "docker login fails, or writes the password into that file, in plain text.", hint: hint)
        }
        let message = "docker uses \(helper) (\(path))"
        guard helper == ours, let answer else {
            return .note(
                "helpers", message,
                because: "The helper decides where passwords are. Those of a keyring need a message bus.", hint: hint)
        }
        return finding(message, of: answer)
    }

    /// Converts the answer of TokenKeep's helper to `list` to a finding.
    private static func finding(_ message: String, of answer: AskedProgram.Answer) -> Finding {
        let program = "docker-credential-\(ours)"
        switch answer {
        case .ended(exitCode: 0, _): return .ok("helpers", message)
        case .ended(_, let output):
            let line = output.split(separator: "\n" as Character).first.map(String.init) ?? "no answer"
            return .problem(
                "helpers", "\(message), and \(program) says: \(line)",
                because: "docker pull and push find no password until it answers.", hint: "tokenkeep ready")
        case .absent: return AskedProgram.inRelativeFolder("helpers", message, program)
        case .failed:
            return .problem(
                "helpers", "\(message), and \(program) does not end", because: "docker pull and push hang.",
                hint: "tokenkeep ready")
        }
    }

    // MARK: Python

    /// A script that prints the backends of Python's keyring in their order, or nothing if keyring is not installed.
    ///
    /// The script first removes the working directory from Python's module path, because a module there may come from
    /// an untrusted archive. The option `-c` and an empty entry of PYTHONPATH add the working directory.
    private static let script = """
        import os, sys
        try:
            here = os.path.realpath(os.getcwd())
        except OSError:
            here = ""
        sys.path[:] = [place for place in sys.path if place and os.path.realpath(place) != here]
        try:
            import keyring
        except ImportError:
            raise SystemExit(0)
        chosen = keyring.get_keyring()
        for one in getattr(chosen, "backends", [chosen]):
            print(type(one).__module__ + "." + type(one).__name__)
        """

    static func python() -> [Finding] {
        let isOver: Bool
        var backends: [String] = []
        // Pass only absolute directories. With an empty or relative directory, Python would run a module
        // `sitecustomize` from the working directory before the script begins.
        let path = ToolPlaces.variable("PYTHONPATH").map { value in
            "PYTHONPATH=" + value.split(separator: ":" as Character).filter { $0.hasPrefix("/") }.joined(separator: ":")
        }
        switch AskedProgram.run(
            "python3", ["-B", "-c", script], variables: path.map { [$0] } ?? [], until: AskedProgram.deadline)
        {
        case .absent: return []
        case .failed: isOver = false
        case .ended(let code, let output):
            isOver = code == 0
            backends = output.split(separator: "\n" as Character).map(String.init)
        }
        guard isOver else {
            return [
                .problem(
                    "helpers", "Python's keyring does not find its backend",
                    because: "pip, twine and poetry hang or fail with it.", hint: "keyring --list-backends")
            ]
        }
        return backends.first.map { [python($0, backends.joined(separator: ", then "))] } ?? []
    }

    private static func python(_ first: String, _ list: String) -> Finding {
        let message = "Python's keyring uses \(list)"
        if first.hasPrefix("tokenkeep.") { return .ok("helpers", message) }
        if first.hasPrefix("keyring.backends.fail") || first.hasPrefix("keyring.backends.null") {
            return .note(
                "helpers", "Python's keyring has no backend",
                because: "pip, twine and poetry ask for a password each time.",
                hint: "man tokenkeep-tools")
        }
        guard first.contains("Plaintext") else {
            return .note(
                "helpers", message, because: "The backend decides where passwords are; most need a message bus.",
                hint: "man tokenkeep-tools")
        }
        return .problem(
            "helpers", message, because: "It writes every password into a plain file.", hint: "man tokenkeep-tools")
    }
}
