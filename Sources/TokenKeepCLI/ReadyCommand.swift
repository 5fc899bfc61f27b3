import ArgumentParser
import TokenKeepEngine

/// `tokenkeep ready`.
struct ReadyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ready",
        abstract: "Tell at once whether items can be loaded, or saved: before a sign-in is shown.",
        discussion: """
            Never prompts and changes nothing. Exit code 0: ready; 3: a user must unlock the vault or the keyring first; 4: no \
            place for the items can be reached; 5: the vault cannot be made in its place.

              tokenkeep ready --save && ./sign-in.sh
            """.withWholeExamples)

    @Flag(help: "Whether items can be saved.")
    var save = false

    @OptionGroup(title: "Store options")
    var storeOptions: StoreOptions

    func run() throws { try storeOptions.open().checkReady(forSaving: save) }
}
