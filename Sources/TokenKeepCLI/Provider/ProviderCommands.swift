import ArgumentParser
import TokenKeepCore
import TokenKeepOAuth

/// `tokenkeep provider …`.
struct ProviderCommand: CommandGroup {
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
}

/// `tokenkeep provider list`.
struct ProviderListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the providers that have a file.",
        discussion: """
            No server is asked. A file that would be refused is listed with the reason.
            """)

    @Flag(help: "Write a JSON object.")
    var json = false

    func run() throws {
        let files = ProviderFiles.standard
        let entries = files.names.map { ProviderJSON.Entry($0, files) }
        if json { return try Terminal.write(JSONOutput.text(ProviderJSON.Listing(providers: entries))) }
        var table = Table(header: ["NAME", "SERVER", "CLIENT ID", "FILE", "PROBLEM"])
        for entry in entries {
            table.add([
                entry.name, entry.origin ?? "", entry.hasClient ? "yes" : "no", entry.source ?? "",
                entry.error?.message ?? "",
            ])
        }
        try Terminal.write(table.text)
    }
}

/// `tokenkeep provider show NAME`.
struct ProviderShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show a provider with what its file includes, and each line's place.",
        discussion: """
            No server is asked.

              tokenkeep provider show github
            """.withWholeExamples)

    @Argument(help: "The provider's name.")
    var name: String

    @Flag(help: "Write a JSON object.")
    var json = false

    func run() throws {
        guard let provider = try ProviderFiles.standard.provider(named: name) else {
            throw TokenKeepError(.invalid, "there is no provider \"\(name)\"", hint: "tokenkeep provider list")
        }
        if json { return try Terminal.write(JSONOutput.text(ProviderJSON.Shown(provider))) }
        var table: [String] = []
        for key in ProviderKey.allCases where key != .include {
            guard let value = provider.values[key] else { continue }
            table += ["# \(value.place)", "\(key.rawValue) = \(value.text)"]
        }
        for (name, value) in provider.parameters.sorted(by: { $0.key < $1.key }) {
            table += ["# \(value.place)", "parameter \(name) = \(value.text)"]
        }
        try Terminal.write(table.map { Terminal.printable($0) + "\n" }.joined())
    }
}

extension ProviderFiles {
    /// Returns the provider that the command line names. Throws ``Status/invalid`` if it is missing, because
    /// ``Status/notFound`` would mean a missing item.
    func named(_ name: String) throws(TokenKeepError) -> Provider {
        do throws(TokenKeepError) {
            return try existingProvider(named: name)
        } catch {
            guard error.status == .notFound else { throw error }
            throw TokenKeepError(.invalid, error.message, hint: error.hint)
        }
    }
}

/// `tokenkeep provider check FILE`.
struct ProviderCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check the file of a provider, and every file that it includes.",
        discussion: """
            Says OK, or names the file, the line and what was expected. Its owner and permissions are checked too. No \
            server is asked.

              tokenkeep provider check ~/.config/tokenkeep/providers.d/example.conf
            """.withWholeExamples)

    @Argument(help: "The file.", completion: .file())
    var file: String

    func run() throws {
        _ = try ProviderFiles.standard.provider(path: file)
        try Terminal.write("OK\n")
    }
}

/// `tokenkeep provider discover ISSUER`.
struct ProviderDiscoverCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "discover",
        abstract: "Ask a server for its endpoints, and print a provider's file to start from.",
        discussion: """
            Reads the metadata of RFC 8414, or else of OpenID Connect. The issuer in it must be equal to ISSUER, to the \
            letter. Metadata is kept for 24 hours in $XDG_CACHE_HOME/tokenkeep/discovery.

              tokenkeep provider discover https://login.example.com
            """.withWholeExamples)

    @Argument(help: "The issuer, an https address.")
    var issuer: String

    @Option(help: ArgumentHelp("The authorities of the server's certificate, a PEM file.", valueName: "file"))
    var caFile: String?

    @Flag(help: "Write a JSON object.")
    var json = false

    func run() throws {
        let issuer = try WebAddress(issuer)
        let discovery = Discovery(issuer: issuer, caFile: caFile)
        let metadata = try discovery.metadata(until: Deadline(milliseconds: HTTPLimits().whole))
        var values = [("issuer", issuer.text)]
        for key in ProviderKey.discoverable {
            do throws(TokenKeepError) {
                if let address = try discovery.endpoint(key, in: metadata) {
                    values.append((key.rawValue, address.text))
                }
            } catch {
                Terminal.warn(error)
            }
        }
        if let caFile { values.append(("ca_file", caFile)) }
        if json {
            return try Terminal.write(JSONOutput.text(Dictionary(uniqueKeysWithValues: values)))
        }
        let lines = values.map { "\($0.0) = \($0.1)" } + ["# client_id = "]
        try Terminal.write(lines.map { Terminal.printable($0) + "\n" }.joined())
    }
}
