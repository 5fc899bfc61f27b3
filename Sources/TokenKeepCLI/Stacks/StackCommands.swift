import ArgumentParser
import TokenKeepCore
import TokenKeepEngine

/// `tokenkeep stack …`.
struct StackCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "stack",
        abstract: "Show a stack as it is used, or check the file of one.",
        discussion: """
            A stack says which modules are asked in which order. Its file is NAME.conf in \
            $XDG_CONFIG_HOME/tokenkeep/stack.d or in /etc/tokenkeep/stack.d.

              tokenkeep stack show
              tokenkeep stack check work.conf
            """.withWholeExamples,
        subcommands: [StackShowCommand.self, StackCheckCommand.self])
}

/// `tokenkeep stack show [NAME]`.
struct StackShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show a stack with every word expanded to actions, and where it comes from.",
        discussion: """
            For each operation, the lines in the order in which their modules are asked. Nothing is asked.

              tokenkeep stack show
              tokenkeep stack show work
            """.withWholeExamples)

    @Argument(help: "The stack's name.")
    var name = "default"

    func run() throws {
        let configuration = StoreConfiguration(stack: name)
        let stack = try configuration.readStack()
        _ = try Store(configuration)  // checks the modules and jumps too
        var lines = ["# stack \(name), from \(stack.source)"]
        for operation in StackLine.Operation.each {
            lines.append("")
            lines += StackShowCommand.lines(of: stack.entries, for: operation)
        }
        try Terminal.write(lines.map { Terminal.printable($0) + "\n" }.joined())
    }

    private static func lines(
        of entries: [Stack.Entry], for operation: StackLine.Operation, indent: String = ""
    ) -> [String] {
        entries.filter { $0.applies(to: operation) }.flatMap { entry -> [String] in
            switch entry {
            case .line(let line):
                [indent + text(of: line, for: operation)]
            case .substack(let substack):
                ["\(indent)# substack \(substack.name), from \(substack.place)"]
                    + lines(of: substack.entries, for: operation, indent: indent + "  ")
                    + ["\(indent)# end of substack \(substack.name)"]
            }
        }
    }

    private static func text(of line: StackLine, for operation: StackLine.Operation) -> String {
        let words =
            [(line.mayBeMissing ? "-" : "") + operation.rawValue, line.control.actions(for: operation).description]
            + [line.module] + line.arguments.map(quoted) + ["# \(line.place)"]
        return words.joined(separator: " ")
    }

    /// Returns the argument, in brackets if the syntax of stacks requires brackets.
    private static func quoted(_ argument: String) -> String {
        guard argument.isEmpty || argument.first == "[" || argument.contains(where: { " \t\r#\\".contains($0) }) else {
            return argument
        }
        return "[" + argument.replacing("]", with: "\\]") + "]"
    }
}

/// `tokenkeep stack check FILE`.
struct StackCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check the file of a stack, and every stack that it includes.",
        discussion: """
            Says OK where a store can be opened with it, or names the file, the line and what was expected. Its owner and \
            permissions are checked too.

              tokenkeep stack check ~/.config/tokenkeep/stack.d/work.conf
            """.withWholeExamples)

    @Argument(help: "The file.", completion: .file())
    var file: String

    func run() throws {
        var configuration = StoreConfiguration()
        configuration.stackFile = file
        _ = try Store(configuration)
        try Terminal.write("OK\n")
    }
}
