import ArgumentParser
import TokenKeepCore
import TokenKeepEngine

/// `tokenkeep module list`.
struct ModuleListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the modules that a stack can name.",
        discussion: """
            Nothing of them is run. What would be refused is listed with the reason.
            """)

    func run() throws {
        var table = Table(header: ["NAME", "KIND", "FILE", "PROBLEM"])
        for entry in ModuleCatalog.entries() {
            table.add([entry.name, entry.kind, entry.path, entry.problem?.message ?? ""])
        }
        try Terminal.write(table.text)
    }
}
