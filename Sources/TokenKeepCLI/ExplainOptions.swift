import ArgumentParser
import TokenKeepEngine

/// `--explain`: the option of every command that asks modules for items.
struct ExplainOptions: ParsableArguments {
    @Flag(help: "Say on standard error which module answered what, and why the next one was asked.")
    var explain = false

    /// The handler that prints the events of the store's calls; nil without the option.
    var handler: StackTraceHandler? {
        guard explain else { return nil }
        return { Terminal.explain($0.description) }
    }
}
