import ArgumentParser
import TokenKeepCore
import TokenKeepEngine

/// `tokenkeep list [SERVICE]`.
struct ListCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show what is kept, without the secrets.",
        discussion: """
            A module that could not be asked is named on standard error, and the rest is shown; in JSON it is the member \
            "problem", which is null if the list is complete. If a keyring or the vault is locked, the exit code is 3. \
            The member "version" is null for an item whose secret was not read: load --json knows its version.

              tokenkeep list
              tokenkeep list example.com --json
            """.withWholeExamples)

    @Argument(help: "Only items of this service.", completion: NameCompletion.services)
    var service: String?

    @Flag(help: "Write a JSON object: items, with everything that is known of each, and problem.")
    var json = false

    @OptionGroup
    var options: ExplainedStoreOptions

    func run(_ store: Store) throws {
        let listing = try store.list(service: service)
        if json {
            try JSONOutput.write(listing)
        } else if !listing.items.isEmpty || listing.problem == nil {
            try Terminal.write(table(listing.items))
        }
        let locked = listing.problems.first { $0.status == .locked }
        if let problem = listing.problem, problem.status != .locked { Terminal.warn(problem) }
        if let locked { throw locked }
    }

    private func table(_ items: [ItemDetails]) -> String {
        guard !items.isEmpty else { return "no items\n" }
        let now = UnixTime.now
        var table = Table(header: ["SERVICE", "ACCOUNT", "LABEL", "LEVEL", "EXPIRES", "MODULE"])
        for item in items {
            table.add([
                item.name.service, item.name.account, item.label, item.accessLevel.word,
                ListCommand.words(for: item.expiresAt, now: now), item.module,
            ])
        }
        return table.text
    }

    private static func words(for expiry: UnixTime?, now: UnixTime) -> String {
        guard let expiry else { return "never" }
        return expiry <= now ? "\(expiry.iso8601), over" : expiry.iso8601
    }
}
