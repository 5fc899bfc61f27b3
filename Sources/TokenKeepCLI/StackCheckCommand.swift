import ArgumentParser
import TokenKeepEngine

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
