import ArgumentParser
import Glibc
import TokenKeepCore
import TokenKeepEngine

/// `tokenkeep watch [SERVICE]`.
struct WatchCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Show what changes, as it changes, without the secrets.",
        discussion: """
            A line for each change: "saved" or "cleared", the service and the account, with tabs between them; or \
            "list-again", if a change cannot be named: list the items again. The first line is "list-again" too: from then \
            on no change is missed. A module that cannot be read at that time is warned of, and its changes are shown as \
            "list-again". Ends when it is interrupted or nobody reads any more.

              tokenkeep watch example.com
              tokenkeep watch --json
            """.withWholeExamples)

    @Argument(help: "Only items of this service.", completion: NameCompletion.services)
    var service: String?

    @Flag(help: "Write a JSON object in each line: event, namespace, service and account.")
    var json = false

    @OptionGroup(title: "Store options")
    var options: StoreOptions

    func run(_ store: Store) throws {
        let watch = try StoreWatch(store, service: service)
        // The watch continues, because the problem may end while the watch runs. The warning tells the user why events
        // are missing.
        if let problem = watch.problem { Terminal.warn(problem) }
        try show(.listAgain)
        while true {
            while let change = try watch.next() { try show(change) }
            try WatchCommand.wait(for: watch.descriptor, milliseconds: watch.lookAgainMilliseconds)
        }
    }

    private func show(_ change: ItemChange) throws {
        if json {
            return try Terminal.write(
                JSONOutput.line(JSONOutput.Change(change, namespace: options.namespace)))
        }
        let words = [change.word] + (change.name.map { [$0.service, $0.account] } ?? [])
        try Terminal.write(words.map(Terminal.printable).joined(separator: "\t") + "\n")
    }

    /// Waits until a watch has a change, or until `milliseconds` have passed. -1 means no time limit.
    ///
    /// - Throws: `OutputClosed` if the reader of standard output has closed the pipe.
    static func wait(for descriptor: Int32, milliseconds: Int32) throws {
        var pollers = [
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: STDOUT_FILENO, events: 0, revents: 0),
        ]
        guard poll(&pollers, 2, milliseconds) > 0 else { return }
        if pollers[1].revents & Int16(POLLERR | POLLHUP | POLLNVAL) != 0 { throw Terminal.OutputClosed() }
    }
}
