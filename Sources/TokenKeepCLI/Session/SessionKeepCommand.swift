import ArgumentParser
import CSystemShims
import TokenKeepCore
import TokenKeepEngine
import TokenKeepSession

/// `tokenkeep session keep [SERVICE]`.
struct SessionKeepCommand: ParsableCommand {
    /// The longest time between two looks at the list of sessions, in milliseconds.
    private static let longestPause: UInt32 = 180_000
    /// The time until tokens that could not be revoked are sent again, in milliseconds.
    private static let outboxPause: UInt32 = 60_000

    static let configuration = CommandConfiguration(
        commandName: "keep",
        abstract: "Renew the tokens of all sessions before they end, until interrupted.",
        discussion: """
            Each session is renewed 5 minutes before its token ends, saved when its place opens, and revoked at the server \
            after its logout. One process per vault does so; a second one ends with exit code 4 and names the first. After \
            a suspension of the machine all is checked at once. The unit tokenkeep-keep.service runs it in a login session:

              systemctl --user enable --now tokenkeep-keep
              tokenkeep session keep --exec ~/.config/tokenkeep/refresh

            Sessions with a provider's file are renewed as it says; the command of --exec renews the others. The unit runs \
            ~/.config/tokenkeep/refresh so, if there is such a program.

            With --validate the server is asked every 3 minutes whether it still accepts each token.
            """)

    @Argument(help: "Only sessions of this service.")
    var service: String?

    @Flag(help: "Ask the server every 3 minutes whether it still accepts the tokens.")
    var validate = false

    @OptionGroup
    var server: SessionServerOptions

    @OptionGroup(title: "Store options")
    var storeOptions: StoreOptions

    func run() throws {
        var options = try server.options(storeOptions, isForMany: true)
        options.validates = validate
        let store = try storeOptions.open(server.explainOptions)
        let keeper = try SessionKeeper(store)
        let watch = try SessionsWatch(store, service: service)
        var reported: Set<String> = []
        var outboxIsPaused: Deadline?
        while true {
            while try watch.next() != nil {}
            var pause = try step(keeper, store, options, &reported)
            if outboxIsPaused?.hasPassed ?? true {
                let flushed = try? Outbox(store, options).flush(service: service)
                outboxIsPaused =
                    (flushed?.left ?? 1) == 0 ? nil : Deadline(milliseconds: SessionKeepCommand.outboxPause)
            }
            if let outboxIsPaused { pause = min(pause, outboxIsPaused.remainingMilliseconds + 1) }
            // Changes by the steps themselves are no news.
            while try watch.next() != nil {}
            _ = tokenkeep_wait_readable(watch.descriptor, -1, pause)
        }
    }

    /// Does what is due for each session, as the one process that keeps them. Returns milliseconds until the next time.
    private func step(
        _ keeper: borrowing SessionKeeper, _ store: Store, _ options: SessionOptions, _ reported: inout Set<String>
    ) throws -> UInt32 {
        var pause = SessionKeepCommand.longestPause
        for info in try Sessions(store).list(service: service).sessions where info.state != .signedOut {
            let name = "\(info.service)\0\(info.account)"
            do throws(TokenKeepError) {
                let session = try Session(store, service: info.service, account: info.account, options)
                pause = min(pause, max(1000, try session.stepAlone()))
                reported.remove(name)
            } catch {
                // Once until the user has signed in again.
                if reported.insert(name).inserted { Terminal.warn(error) }
            }
        }
        return pause
    }
}
