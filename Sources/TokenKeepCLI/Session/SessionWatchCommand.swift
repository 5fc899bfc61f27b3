import ArgumentParser
import TokenKeepCore
import TokenKeepEngine
import TokenKeepSession

/// `tokenkeep session watch [SERVICE]`.
struct SessionWatchCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Show sessions as they change, without their tokens.",
        discussion: """
            A line for each session, and for each change of one by any program: the state, the service, the account and \
            the reason, with tabs between them. Ends when it is interrupted or nobody reads any more.

              tokenkeep session watch
              tokenkeep session watch api.example.com --json
            """.withWholeExamples)

    @Argument(help: "Only sessions of this service.", completion: NameCompletion.sessionServices)
    var service: String?

    @Flag(help: "Write a JSON object in each line, as show --json does.")
    var json = false

    @OptionGroup(title: "Store options")
    var options: StoreOptions

    func run(_ store: Store) throws {
        let watch = try SessionsWatch(store, service: service)
        while true {
            while let info = try watch.next() { try show(info, of: store) }
            try WatchCommand.wait(for: watch.descriptor, milliseconds: -1)
        }
    }

    private func show(_ info: SessionInfo, of store: Store) throws {
        if json {
            return try Terminal.write(JSONOutput.line(SessionJSON.Session(info, SessionJSON.waiting(store))))
        }
        let words = [info.state.word, info.service, info.account, info.reason.word].compactMap { $0 }
        try Terminal.write(words.map(Terminal.printable).joined(separator: "\t") + "\n")
    }
}
