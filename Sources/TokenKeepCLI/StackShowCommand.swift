import ArgumentParser
import TokenKeepCore
import TokenKeepEngine

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

    /// The argument, put in brackets if a stack's syntax needs brackets.
    private static func quoted(_ argument: String) -> String {
        guard argument.isEmpty || argument.first == "[" || argument.contains(where: { " \t\r#\\".contains($0) }) else {
            return argument
        }
        return "[" + argument.replacing("]", with: "\\]") + "]"
    }
}
