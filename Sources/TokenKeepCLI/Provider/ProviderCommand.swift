import ArgumentParser

/// `tokenkeep provider …`.
struct ProviderCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "provider",
        abstract: "Show the servers that sign users in, as their files describe them.",
        discussion: """
            A provider is a file NAME.conf of lines key = value: the server's endpoints, and the client's id. The first \
            of these directories that has the file counts: $XDG_CONFIG_HOME/tokenkeep/providers.d, \
            /etc/tokenkeep/providers.d, and that of the installation, which knows endpoints, and no client ids:

              printf 'include = github\\nclient_id = Iv1.0123\\n' > ~/.config/tokenkeep/providers.d/github.conf
              tokenkeep provider show github
              tokenkeep provider discover https://login.example.com > ~/.config/tokenkeep/providers.d/example.conf
            """.withWholeExamples,
        subcommands: [
            ProviderListCommand.self, ProviderShowCommand.self, ProviderCheckCommand.self,
            ProviderDiscoverCommand.self,
        ])

    func run() throws {
        throw UsageError.missingCommand(of: "provider")
    }
}
