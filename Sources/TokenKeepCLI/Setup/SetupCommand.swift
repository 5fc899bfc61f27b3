import ArgumentParser
import Glibc
import TokenKeepCore

/// `tokenkeep setup [TOOL…]`.
struct SetupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "setup",
        abstract: "Let git, docker, podman, cargo, pip and uv keep their credentials here.",
        discussion: """
            Shows what would be written into which file, and which helper it displaces, and writes it after a yes. Without \
            names, the tools that are installed are set up. --undo takes back what was written, and nothing else.

              tokenkeep setup
              tokenkeep setup git docker --yes
              tokenkeep setup --undo
            """.withWholeExamples)

    private static var tools: [any ToolSettings] {
        [
            GitSettingsFile(), DockerSettingsFile(), PodmanSettingsFile(), CargoSettingsFile(),
            KeyringSettingsFile.python, KeyringSettingsFile.uv,
        ]
    }

    @Argument(
        help: ArgumentHelp("Which tools: git, docker, podman, cargo, python (pip), uv.", valueName: "tool"),
        completion: .list(tools.map(\.name)))
    var names: [String] = []

    @Flag(help: "Write without asking.")
    var yes = false

    @Flag(help: "Take back what setup wrote.")
    var undo = false

    func run() throws {
        let tools = try chosen()
        var problem: TokenKeepError?
        for tool in tools {
            do {
                try run(tool)
            } catch let error as TokenKeepError where tools.count > 1 && error.status != .cancelled {
                // Warn and continue, because the other tools can still be set up.
                Terminal.warn(error)
                problem = problem ?? error
            }
        }
        if let problem { throw ExitCode(problem.exitCode) }
    }

    private func chosen() throws(TokenKeepError) -> [any ToolSettings] {
        guard !names.isEmpty else { return SetupCommand.tools.filter { $0.isUsed || undo } }
        var chosen: [any ToolSettings] = []
        for name in names {
            guard let tool = SetupCommand.tools.first(where: { $0.name == name }) else {
                throw TokenKeepError(
                    .invalid, "setup does not know the tool \(name)", hint: "git, docker, podman, cargo, python, uv")
            }
            chosen.append(tool)
        }
        return chosen
    }

    private func run(_ tool: any ToolSettings) throws {
        guard let change = try undo ? tool.undo() : tool.setUp() else {
            return try Terminal.write("\(tool.name): \(undo ? "nothing of setup is there" : "is set up already")\n")
        }
        var text = "\(tool.name): \(change.file.path) \(undo ? "loses" : "gets")\n"
        for line in change.lines { text += "    \(Terminal.printable(line.replacingTabs))\n" }
        for note in change.notes { text += "  \(Terminal.printable(note))\n" }
        try Terminal.write(text)
        guard try agrees() else { return }
        try change.apply()
    }

    private func agrees() throws -> Bool {
        if yes { return true }
        guard isatty(STDIN_FILENO) == 1, Terminal.showsErrors else {
            throw TokenKeepError(
                .cancelled, "setup asks before it writes, and there is no terminal", hint: "add --yes")
        }
        Terminal.ask("Write it? [y/N] ")
        return Terminal.agrees()
    }
}

extension String {
    /// The text with four spaces for each tab.
    fileprivate var replacingTabs: String {
        String(flatMap { $0 == "\t" ? Array("    ") : [$0] })
    }
}
