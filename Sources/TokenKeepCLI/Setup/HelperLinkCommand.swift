import ArgumentParser
import Glibc
import TokenKeepCore
import TokenKeepTerminal

/// `tokenkeep helper-link PATH REFERENCE`.
struct HelperLinkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "helper-link",
        abstract: "Make a program that prints one token, and takes no arguments.",
        discussion: """
            For pnpm's tokenHelper, Claude Code's apiKeyHelper and others that call a program for a token. The program is \
            a script, which holds the reference and no secret. An account with a session gets its renewed access token.

            A reference names an item: tokenkeep://SERVICE/ACCOUNT, or tokenkeep://NAMESPACE@SERVICE/ACCOUNT. A slash in a \
            service is %2F.

              tokenkeep helper-link ~/.local/bin/npm-token tokenkeep://registry.example.com/ann
            """.withWholeExamples)

    @Argument(help: "The program's file, which must not exist yet.", completion: .file())
    var path: String

    @Argument(help: "The item: tokenkeep://SERVICE/ACCOUNT.")
    var reference: String

    func run() throws {
        _ = try ItemReference(reference, of: "the argument")
        let program = try ToolPlaces.beside("tokenkeep-credential")
        let script = """
            #!/bin/sh
            # Made by tokenkeep helper-link.
            exec \(HelperLinkCommand.quoted(program)) token \(HelperLinkCommand.quoted(reference))

            """
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o755)
        guard descriptor >= 0 else {
            if errno == EEXIST {
                throw TokenKeepError(.duplicate, "\(path) exists already", hint: "remove it first, or choose another")
            }
            guard errno == ENOENT, let slash = path.lastIndex(of: "/") else {
                throw SettingsFile.failure("written", path)
            }
            let folder = String(path[..<slash])
            throw TokenKeepError(
                .invalid, "\(path) cannot be written: there is no folder \(folder)",
                hint: "mkdir -p \(ShellWord.quoted(folder))")
        }
        defer { close(descriptor) }
        var text = script
        let error = text.withUTF8 { Terminal.writeAll(UnsafeRawBufferPointer($0), to: descriptor) }
        guard error == 0, fchmod(descriptor, 0o755) == 0, fsync(descriptor) == 0 else {
            if error != 0 { errno = error }
            let failure = SettingsFile.failure("written", path)
            unlink(path)
            throw failure
        }
    }

    /// Encloses a word in the shell's single quotes.
    private static func quoted(_ word: String) -> String {
        "'" + word.split(separator: "'" as Character, omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }
}
