import TokenKeepCore
import TokenKeepSession

/// The checks of the helpers of docker, cargo and Python.
enum OtherHelperChecks {
    // MARK: docker

    static func docker() -> [Finding] {
        guard let path = try? DockerSettingsFile.path(), let file = try? SettingsFile(path) else { return [] }
        guard ToolPlaces.isOnPath("docker") || file.text != nil else { return [] }
        do throws(TokenKeepError) {
            let settings = try file.text.map { text throws(TokenKeepError) in
                try DockerSettingsFile.settings(text, path)
            }
            return [docker(settings?["credsStore"]?.text, path)] + ofRegistries(settings, path)
        } catch {
            return [
                .problem(
                    "helpers", error.message, because: "docker itself may refuse the file.",
                    hint: "docker --config \(ShellWord.quoted(folder(of: path))) info")
            ]
        }
    }

    /// The helpers of single registries, which docker asks in place of the general one.
    private static func ofRegistries(_ settings: JSONValue?, _ path: String) -> [Finding] {
        let helpers = settings?["credHelpers"]
        return (helpers?.names ?? []).compactMap { registry in
            guard let helper = helpers?[registry]?.text, !helper.isEmpty else { return nil }
            let message = "docker uses \(helper) for \(registry) (\(path))"
            guard ToolPlaces.isOnPath("docker-credential-\(helper)") else {
                return .problem(
                    "helpers", "\(message), and docker-credential-\(helper) is not on the PATH",
                    because: "docker login and docker pull fail for this registry.",
                    hint: "command -v docker-credential-\(helper)")
            }
            guard helper != "tokenkeep" else { return .ok("helpers", message) }
            return .note(
                "helpers", message, because: "For this registry docker asks this helper alone.",
                hint: "docker-credential-\(helper) list")
        }
    }

    /// docker takes the folder of its configuration, not the file.
    private static func folder(of path: String) -> String {
        path.split(separator: "/" as Character).dropLast().reduce(into: "") { $0 += "/" + $1 }
    }

    private static func docker(_ helper: String?, _ path: String) -> Finding {
        guard let helper else {
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
        guard helper == "tokenkeep" else {
            return .note(
                "helpers", "docker uses \(helper) (\(path))",
                because: "The helper decides where passwords are. Those of a keyring need a message bus.", hint: hint)
        }
        switch AskedProgram.run(program, ["list"], until: AskedProgram.deadline) {
        case .ended(exitCode: 0, _): return .ok("helpers", "docker uses tokenkeep (\(path))")
        case .ended(_, let output):
            let line = output.split(separator: "\n" as Character).first.map(String.init) ?? "no answer"
            return .problem(
                "helpers", "docker uses tokenkeep (\(path)), and \(program) says: \(line)",
                because: "docker pull and push find no password until it answers.", hint: "tokenkeep ready")
        case .absent, .failed:
            return .problem(
                "helpers", "docker uses tokenkeep (\(path)), and \(program) does not end",
                because: "docker pull and push hang.", hint: "tokenkeep ready")
        }
    }

    // MARK: cargo

    static func cargo() -> [Finding] {
        guard let folder = try? CargoSettingsFile.folder() else { return [] }
        let path = CargoSettingsFile.path(folder)
        let text = SmallFile.text(path)
        guard ToolPlaces.isOnPath("cargo") || text != nil else { return [] }
        let line = text?.split(separator: "\n" as Character).first {
            $0.drop { $0.isWhitespace }.hasPrefix("global-credential-providers")
        }
        guard let line, line.contains("cargo-credential-tokenkeep") else {
            return [
                .note(
                    "helpers", "cargo has \(line == nil ? "no provider" : "another provider") in \(path)",
                    because: "cargo login writes the token into \(folder)/credentials.toml, in plain text.",
                    hint: "tokenkeep setup cargo")
            ]
        }
        let words = line.split { "[]\", ".contains($0) }
        let program = words.last { $0.hasSuffix("cargo-credential-tokenkeep") }.map(String.init) ?? ""
        guard program.hasPrefix("/") ? ToolPlaces.isProgram(program) : ToolPlaces.isOnPath(program) else {
            return [
                .problem(
                    "helpers", "cargo uses \(program) (\(path)), which is not there",
                    because: "cargo publish, yank and private registries fail.", hint: "command -v \(program)")
            ]
        }
        return [cargo(program, path)]
    }

    /// Starts the provider as cargo does. Without a request it tells its versions and ends.
    private static func cargo(_ program: String, _ path: String) -> Finding {
        let answer = AskedProgram.run(program, ["--cargo-plugin"], until: AskedProgram.deadline)
        if case .ended(exitCode: 0, let output) = answer, output.hasPrefix("{\"v\":") {
            return .ok("helpers", "cargo uses \(program) (\(path))")
        }
        return .problem(
            "helpers", "cargo uses \(program) (\(path)), and cannot run it",
            because: "cargo publish, yank and private registries fail.", hint: "\(ShellWord.quoted(program)) --version")
    }

    // MARK: Python

    /// Prints the backends that keyring uses, in their order; nothing without keyring. Modules of the working directory, which
    /// `-c` and an empty word of PYTHONPATH put into the path, are not run: they may be of a strange archive.
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
        // An empty or relative word of the variable would let Python run a sitecustomize of the working directory.
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
