import ArgumentParser
import CSystemShims
import Glibc
import TokenKeepCore
import TokenKeepEngine
import TokenKeepSession

/// `tokenkeep session keep [SERVICE]`.
struct SessionKeepCommand: ParsableCommand {
    /// The time, in milliseconds, after which the revocation of tokens that could not be revoked is tried again.
    private static let outboxPause: UInt32 = 60_000

    static let configuration = CommandConfiguration(
        commandName: "keep",
        abstract: "Renew the tokens of all sessions before they end, until interrupted.",
        discussion: """
            Each session is renewed 5 minutes before its token ends, saved when its place opens, and revoked at the server \
            after its logout. One process per vault does so; a second one ends with exit code 4 and names the first. After \
            a suspension of the machine and a change of the network all is checked at once, after an unlock of the keyring \
            within 15 seconds. The unit tokenkeep-keep.service runs it in a login session:

              systemctl --user enable --now tokenkeep-keep
              tokenkeep session keep --exec ~/.config/tokenkeep/refresh

            Sessions with a provider's file are renewed as it says; the command of --exec renews the others. The unit runs \
            ~/.config/tokenkeep/refresh so, if there is such a program.

            With --validate the server is asked every 3 minutes whether it still accepts each token.
            """.withWholeExamples)

    @Argument(help: "Only sessions of this service.", completion: NameCompletion.sessionServices)
    var service: String?

    @Flag(help: "Ask the server every 3 minutes whether it still accepts the tokens.")
    var validate = false

    @OptionGroup
    var server: SessionServerOptions

    @OptionGroup(title: "Store options")
    var storeOptions: StoreOptions

    func run() throws {
        // The programs that this process starts need these signal dispositions. They are set once here, so that no
        // start of a program changes them.
        signal(SIGPIPE, SIG_IGN)
        signal(SIGCHLD, SIG_DFL)
        var options = try server.options(storeOptions, isForMany: true)
        options.validates = validate
        let store = try storeOptions.open(server.explainOptions)
        let keeper = try SessionKeeper(store)
        let wakes = try KeeperWakes(store, service: service)
        let sessions = KeptSessions(store, options)
        var outboxIsPaused: Deadline?
        var pause: UInt32 = 0
        tokenkeep_give_back_memory()
        while true {
            let wake = try wakes.next(within: pause)
            pause = sessions.keep(wake, keeper)
            if outboxIsPaused?.hasPassed ?? true { outboxIsPaused = flush(store, options, wake.changes) }
            if let outboxIsPaused { pause = min(pause, outboxIsPaused.remainingMilliseconds + 1) }
        }
    }

    /// Revokes the tokens of ended sessions. Returns the deadline before which no new attempt is made; nil if no tokens
    /// are left.
    private func flush(_ store: Store, _ options: SessionOptions, _ changes: SessionChanges) -> Deadline? {
        let outbox = Outbox(store, options)
        guard outbox.mayHaveTokens || changes.hasEnds || changes.hasLocked else { return nil }
        let flushed = try? outbox.flush(service: service)
        return (flushed?.left ?? 1) == 0 ? nil : Deadline(milliseconds: SessionKeepCommand.outboxPause)
    }
}
