import ArgumentParser
import Glibc
import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys
import TokenKeepRecords
import TokenKeepSession

/// `tokenkeep vault …`.
struct VaultCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "vault",
        abstract: "Delete the vault, and free what deleted vaults left in the TPM.",
        subcommands: [Delete.self, Orphans.self])

    /// `tokenkeep vault delete`.
    struct Delete: StoreCommand {
        static let configuration = CommandConfiguration(
            commandName: "delete",
            abstract: "Delete the vault: its items, its keys, its place in the TPM.",
            discussion: """
                Needs no password, and works on a locked or damaged vault. On a terminal you are asked before. What would be lost \
                although it is meant for others is named, and keeps the vault unless --though-pending is given: writes and \
                removals that modules have not got, and tokens that wait to be revoked. Sessions end without their servers: \
                tokenkeep session logout --all before. Items that other modules hold in plain stay there.

                Files that are not the vault's stay, and are named. A deletion that was interrupted is finished by the next one.

                  tokenkeep session logout --all
                  tokenkeep vault delete
                """.withWholeExamples)

        @Flag(help: "Do not ask.")
        var yes = false

        @Flag(help: "Delete it though pending writes, or tokens that wait to be revoked, are lost.")
        var thoughPending = false

        @OptionGroup(title: "Store options")
        var options: StoreOptions

        func run(_ store: Store) throws {
            let removal = store.vaultRemoval
            if try !removal.hasBegun() {
                let census = try census(store)
                try checkLosses(store)
                try confirm(census, path: try removal.path())
            }
            let remains = try removal.run { () throws(TokenKeepError) in try checkLosses(store) }
            try Delete.report(remains)
        }

        /// Counts the vault's records. Returns nil if they cannot be read and `--though-pending` was given.
        private func census(_ store: Store) throws(TokenKeepError) -> Records.Census? {
            do throws(TokenKeepError) {
                if let census = try store.vaultRemoval.census() { return census }
            } catch {
                guard thoughPending, error.status == .corrupt || error.status == .unsupported else {
                    throw Delete.unreadable(error)
                }
                return nil
            }
            throw TokenKeepError(.notFound, "there is no vault in \(try store.vaultRemoval.path())")
        }

        private static func unreadable(_ error: TokenKeepError) -> TokenKeepError {
            guard error.status == .corrupt || error.status == .unsupported else { return error }
            return TokenKeepError(
                error.status, "what waits in the vault cannot be read: \(error.message)", module: error.module,
                hint: "to delete it all the same: --though-pending")
        }

        /// Throws if the deletion would lose changes that modules or servers have not received. Does nothing with
        /// `--though-pending`.
        private func checkLosses(_ store: Store) throws(TokenKeepError) {
            guard !thoughPending else { return }
            let losses: VaultLosses
            do throws(TokenKeepError) {
                losses = try VaultLosses(store)
            } catch {
                throw Delete.unreadable(error)
            }
            guard !losses.isEmpty else { return }
            throw TokenKeepError(
                .policy, "the vault has what would be lost with it: \(losses.words)", module: "vault",
                hint: "\(losses.remedy); to delete it all the same: --though-pending")
        }

        private func confirm(_ census: Records.Census?, path: String) throws {
            guard !yes else { return }
            guard isatty(STDIN_FILENO) == 1, Terminal.showsErrors else {
                throw TokenKeepError(
                    .invalid, "vault delete asks before it does anything, and there is no terminal", hint: "add --yes")
            }
            if let sealed = census?.sealed, sealed > 0 {
                Terminal.writeError(
                    "\(CountedNouns.items(sealed)) that it sealed for other modules will not open any more\n")
            }
            if let unreadable = census?.unreadable, unreadable > 0 {
                Terminal.writeError("unreadable records in it: \(unreadable)\n")
            }
            let items = census.map { CountedNouns.items($0.items) } ?? "items that cannot be counted"
            Terminal.ask("delete the vault in \(path), with \(items)? [y/N] ")
            guard Terminal.agrees() else { throw TokenKeepError(.cancelled, "nothing was deleted") }
        }

        private static func report(_ remains: VaultDeletion.Remains) throws {
            for file in remains.files { Terminal.explain("left, because it is not the vault's: \(file)") }
            if let reason = remains.keys { Terminal.explain("keys of the vault may be left in the kernel: \(reason)") }
            guard let fault = remains.indices else { return }
            throw TokenKeepError(
                .unavailable, "the vault is deleted, but the TPM may keep indices of it: \(fault.reason)",
                module: "vault", hint: "when it answers: tokenkeep vault orphans --free")
        }
    }
}

/// The changes in a vault that modules or servers have not received, and that its deletion would lose.
private struct VaultLosses {
    private let pending: [PendingReport.Entry]
    private let sessions: Sessions.Losses

    init(_ store: Store) throws(TokenKeepError) {
        let report = try store.pendingChanges.report()
        if let problem = report.problem { throw problem }
        pending = report.entries
        sessions = try Sessions(store).losses()
    }

    var isEmpty: Bool { words.isEmpty }

    var words: String {
        let modules = Set(pending.map(\.module)).sorted().map { module in
            "\(PendingText.counts(pending.filter { $0.module == module })) pending for \(module)"
        }
        let tokens = [
            sessions.stashed > 0 ? "sessions whose new tokens wait for their place to open: \(sessions.stashed)" : nil,
            sessions.ended > 0
                ? "ended sessions whose tokens wait for an unlock to be revoked: \(sessions.ended)" : nil,
            sessions.mayHaveOutbox ? "tokens that wait to be revoked" : nil,
        ]
        return (modules + tokens.compactMap { $0 }).joined(separator: "; ")
    }

    var remedy: String {
        [
            pending.isEmpty ? nil : "tokenkeep sync",
            sessions.stashed + sessions.ended > 0 ? "tokenkeep unlock" : nil,
            sessions.ended > 0 || sessions.mayHaveOutbox ? "tokenkeep session flush" : nil,
        ].compactMap { $0 }.joined(separator: ", ")
    }
}
