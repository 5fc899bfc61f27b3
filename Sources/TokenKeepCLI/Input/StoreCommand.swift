import ArgumentParser
import TokenKeepCore
import TokenKeepEngine

/// A command that opens the store according to its options.
protocol StoreCommand: ParsableCommand {
    associatedtype Options: StoreOpening
    /// The options that configure the store and the command's output.
    var options: Options { get }

    /// Checks the arguments before the store is opened. Throws if the command refuses an argument.
    func prepare() throws

    /// Runs the command with the open store.
    func run(_ store: Store) throws
}

extension StoreCommand {
    /// Accepts all arguments.
    func prepare() {}

    /// Opens the store and runs the command.
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

/// The options of a command with `--explain`.
struct ExplainedStoreOptions: StoreOpening {
    @OptionGroup
    var explain: ExplainOptions

    @OptionGroup(title: "Store options")
    var store: StoreOptions

    func open() throws(TokenKeepError) -> Store { try store.open(explain) }
}

/// The options of a command with `--json`.
struct JSONStoreOptions: StoreOpening {
    @Flag(help: "Write a JSON object.")
    var json = false

    @OptionGroup(title: "Store options")
    var store: StoreOptions

    func open() throws(TokenKeepError) -> Store { try store.open() }
}
