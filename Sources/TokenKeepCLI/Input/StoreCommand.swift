import ArgumentParser
import TokenKeepCore
import TokenKeepEngine

/// A command that opens the store that its options name.
protocol StoreCommand: ParsableCommand {
    associatedtype Options: StoreOpening
    /// Name the store, and say how the command shows what it does.
    var options: Options { get }

    /// Refuses arguments before the store is opened.
    func prepare() throws

    /// Does the command's work with the open store.
    func run(_ store: Store) throws
}

extension StoreCommand {
    /// Refuses nothing.
    func prepare() {}

    /// Opens the store and does the command's work.
    func run() throws {
        try prepare()
        try run(options.open())
    }
}

/// Options that open the store.
protocol StoreOpening: ParsableArguments {
    /// Opens the store. Calls no module and creates nothing.
    func open() throws(TokenKeepError) -> Store
}

/// The options of a command whose calls `--explain` shows.
struct ExplainedStoreOptions: StoreOpening {
    @OptionGroup
    var explain: ExplainOptions

    @OptionGroup(title: "Store options")
    var store: StoreOptions

    func open() throws(TokenKeepError) -> Store { try store.open(explain) }
}

/// The options of a command that writes text, or JSON.
struct JSONStoreOptions: StoreOpening {
    @Flag(help: "Write a JSON object.")
    var json = false

    @OptionGroup(title: "Store options")
    var store: StoreOptions

    func open() throws(TokenKeepError) -> Store { try store.open() }
}
