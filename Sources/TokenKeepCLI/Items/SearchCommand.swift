import ArgumentParser
import FoundationEssentials
import TokenKeepCore
import TokenKeepSecretService

/// `tokenkeep search [SERVICE]`.
struct SearchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "search",
        abstract: "Show the items of every program in the Secret Service, without the secrets.",
        discussion: """
            All collections (keyrings) are searched. Nothing is unlocked and nothing is changed; a locked collection is \
            named on standard error. Programs name a service and an account by attributes of their own, all of which \
            JSON shows. list shows the items of TokenKeep.

              tokenkeep search
              tokenkeep search github.com
              tokenkeep search --attribute xdg:schema=org.git.Password --json

            The exit code is 1 if there is no such item, and 3 if there is none but a collection is locked.
            """.withWholeExamples)

    @Argument(help: "Only items of this service.", completion: NameCompletion.services)
    var service: String?

    @Option(help: ArgumentHelp("Only items with this attribute. May be repeated.", valueName: "name=value"))
    var attribute: [String] = []

    @Flag(help: "Write a JSON object: items, and locked_collections.")
    var json = false

    @Option(help: ArgumentHelp("The longest that the search may take: 5 (seconds), 500ms, 2m.", valueName: "duration"))
    var timeout: String?

    func run() throws {
        let found = try ItemSearch(service: service, attributes: attribute, timeout: timeout).run()
        if json {
            try Terminal.write(JSONOutput.text(Answer(found)))
        } else if !found.items.isEmpty {
            try Terminal.write(table(found.items))
        }
        for collection in found.lockedCollections {
            Terminal.warn(
                TokenKeepError(
                    .locked, "the collection \(collection) is locked, and may have more items",
                    hint: "unlock it in the keyring's own program (gnome-keyring: tokenkeep unlock --keyring)"))
        }
        if found.unreadable > 0 {
            Terminal.warn(TokenKeepError(.corrupt, "\(CountedNouns.items(found.unreadable)) cannot be read"))
        }
        guard found.items.isEmpty else { return }
        throw ExitCode((found.lockedCollections.isEmpty ? Status.notFound : .locked).exitCode)
    }

    private func table(_ items: [FoundItem]) -> String {
        var table = Table(header: ["SERVICE", "ACCOUNT", "LABEL", "PROGRAM", "COLLECTION", "CHANGED"])
        for item in items {
            table.add([
                item.service, item.account, item.label, item.program, item.collection,
                item.isLocked ? "locked" : item.modifiedAt?.iso8601 ?? "unknown",
            ])
        }
        return table.text
    }

    /// The JSON object that `--json` writes.
    private struct Answer: Encodable {
        private enum CodingKeys: String, CodingKey {
            case items, unreadable
            case lockedCollections = "locked_collections"
        }

        private let items: [Item]
        private let lockedCollections: [String]
        private let unreadable: Int

        init(_ found: FoundItems) {
            items = found.items.map(Item.init)
            lockedCollections = found.lockedCollections
            unreadable = found.unreadable
        }
    }

    private struct Item: Encodable {
        private enum CodingKeys: String, CodingKey {
            case service, account, label, program, collection, attributes
            case isLocked = "locked"
            case createdAt = "created_at"
            case modifiedAt = "modified_at"
        }

        private let service, account, label, program, collection: String
        private let attributes: [String: String]
        private let isLocked: Bool
        private let createdAt, modifiedAt: JSONOutput.Nullable<String>

        init(_ item: FoundItem) {
            service = item.service
            account = item.account
            label = item.label
            program = item.program
            collection = item.collection
            attributes = item.attributes
            isLocked = item.isLocked
            createdAt = JSONOutput.Nullable(item.createdAt?.iso8601)
            modifiedAt = JSONOutput.Nullable(item.modifiedAt?.iso8601)
        }
    }
}
