import ArgumentParser
import TokenKeepConformance
import TokenKeepCore
import TokenKeepEngine
import TokenKeepPlugin

/// `tokenkeep module …`.
struct ModuleCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "module",
        abstract: "List the modules that a stack can name, or check one.",
        discussion: """
            A module keeps items: one of those built in, a shared object or a program.

              tokenkeep module list
              tokenkeep module check ./keyctl.so
            """.withWholeExamples,
        subcommands: [ModuleListCommand.self, ModuleCheckCommand.self])
}

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

/// `tokenkeep module check TARGET [ARGUMENT …]`.
struct ModuleCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check that a module does what every module must.",
        discussion: """
            The module is loaded or started and used, in a namespace of its own; what was saved is cleared again. Says \
            for each case whether it holds, and why not. Exit code 7 where one does not.

              tokenkeep module check ./keyctl.so
              tokenkeep module check ./environment.sh env=TOKEN
              tokenkeep module check vault
            """.withWholeExamples)

    @Argument(help: "The module's file, with a / in it, or its name.", completion: .file())
    var module: String

    @Argument(help: "Arguments as a stack gives them.")
    var arguments: [String] = []

    func run() throws {
        let (module, capabilities) = try ModuleCatalog.module(self.module, arguments: arguments)
        if let names = capabilities?.names, !names.isEmpty {
            try Terminal.write("it says of itself: \(names.joined(separator: ", "))\n")
        }
        var (passed, failed, skipped) = (0, 0, 0)
        try Conformance(module, keepsMetadata: capabilities?.contains(.keepsMetadata) ?? true).run { name, outcome in
            switch outcome {
            case .passed:
                passed += 1
                try Terminal.write("ok    \(name)\n")
            case .failed(let why):
                failed += 1
                try Terminal.write("FAIL  \(name): \(Terminal.printable(why))\n")
            case .skipped(let why):
                skipped += 1
                try Terminal.write("skip  \(name): \(why)\n")
            }
        }
        try Terminal.write("\(passed) passed, \(failed) failed, \(skipped) skipped\n")
        guard failed == 0 else {
            throw TokenKeepError(.corrupt, "the module does not do what every module must", module: module.name)
        }
    }
}
