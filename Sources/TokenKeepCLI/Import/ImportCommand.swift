import ArgumentParser
import Glibc
import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys

extension ForeignFormat: ExpressibleByArgument {}

/// `tokenkeep import FILE`, `tokenkeep import --from FORMAT [FILE]`.
struct ImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Save the items of an export, or the entries of another program's file.",
        discussion: """
            The whole export is verified before anything is saved. Items that are there already stay as they are.

              tokenkeep import backup.tokenkeep

            With --from each entry of another program's file is saved, read back, and only then counted. An entry that \
            cannot be read is named by its line or number, and the rest is imported: exit code 7. An item that is there \
            with another secret is kept and named. An import that was interrupted is run again.

              tokenkeep import --from git-credentials --dry-run
              tokenkeep import --from git-credentials --remove

            With --remove the file loses exactly the entries that were read back: it is replaced in one step, with its \
            mode. What the file held before may still be in backups. Entries with notes or one-time codes, which no item \
            keeps, stay.

            With secret-service the keyring of your desktop is read, which must be unlocked. The items that the keyring's \
            helpers of git, docker and cargo stored get the names that TokenKeep's helpers ask for, and --remove takes \
            these from the keyring; items of a service and a username are imported, too. --verbatim imports every item as \
            it is instead, for programs that find it by the provider (tokenkeep secret-service).

              tokenkeep import --from secret-service
              tokenkeep import --from secret-service --verbatim --dry-run

            Items get the names that the program's helper asks for: git:https://HOST and the username, docker:SERVER; else \
            host, service or title, and the username. Without FILE the file is read where its program has it.

              export-program | tokenkeep import --from bitwarden-json -
            """.withWholeExamples)

    /// The maximum time, in milliseconds, to wait for the writer of a pipe if `--timeout` is absent.
    private static let longestWait: UInt32 = 120_000

    @Argument(help: "The file, or - for standard input; for pass, the folder.", completion: .file())
    var file: String?

    @Option(help: ArgumentHelp("The program whose file is read.", valueName: "format"))
    var from: ForeignFormat?

    @Flag(help: "With --from: save and remove nothing.")
    var dryRun = false

    @Flag(help: "Replace items that are there.")
    var replace = false

    @Flag(help: "With --from: take the imported entries out of the file, or out of the keyring those of tools.")
    var remove = false

    @Flag(help: "With --from secret-service: every item with all its attributes.")
    var verbatim = false

    @Flag(help: "Read the passphrase from standard input: one line.")
    var stdin = false

    @OptionGroup(title: "Store options")
    var storeOptions: StoreOptions

    func validate() throws {
        guard from != nil || file != nil else { throw ValidationError("missing expected argument '<file>'") }
        guard from == nil || !stdin else {
            throw ValidationError("--from excludes --stdin: these files have no passphrase")
        }
        guard from == .secretService || !verbatim else {
            throw ValidationError("--verbatim needs --from secret-service")
        }
        guard !verbatim || !remove else {
            throw ValidationError("--verbatim excludes --remove: other programs find their items in the keyring")
        }
        guard from != nil || !dryRun && !remove else { throw ValidationError("--dry-run and --remove need --from") }
    }

    func run() throws {
        guard let from else { return try importExport(file ?? "") }
        guard from != .secretService else { throw try importKeyring() }
        try importForeign(from)
    }

    private func importExport(_ file: String) throws {
        if stdin {
            try storeOptions.passwordOptions.refuseStandardInput(because: "the passphrase is read from standard input")
        }
        let store = try storeOptions.open()
        try ExportReader.check(file)
        let passphrase = try PasswordInput.line(inInput: stdin, orAsk: PasswordInput.passphrase)
        let bar = ProgressBar()
        let outcome = try withBar(bar) { () throws(TokenKeepError) in
            try store.transfer.import(from: file, passphrase: passphrase, isReplacing: replace) {
                bar.show(done: $0, of: $1)
            }
        }
        try Terminal.write("imported \(outcome.imported), kept \(outcome.kept)\n")
    }

    /// Replaces this process by the program `tokenkeep-secret-service`, which reads keyrings. Returns only if this
    /// fails, with the error.
    private func importKeyring() throws(TokenKeepError) -> TokenKeepError {
        guard file == nil, storeOptions.stack == nil, storeOptions.namespace.isEmpty else {
            throw TokenKeepError(
                .invalid, "--from secret-service reads no file, and saves in the vault alone",
                hint: "leave out the file, --stack and --namespace")
        }
        var options = ["import"]
        if dryRun { options.append("--dry-run") }
        if replace { options.append("--replace") }
        if verbatim { options.append("--verbatim") }
        if remove { options.append("--remove") }
        return SecretServiceProgram.become(options + storeOptions.passwordOptions.words)
    }

    private func importForeign(_ format: ForeignFormat) throws {
        let path = try path(of: format)
        if path == ForeignFile.standardInput {
            try storeOptions.passwordOptions.refuseStandardInput(because: "the entries are read from standard input")
        }
        var transfer = ForeignImport(store: try storeOptions.open(), isReplacing: replace, isDryRun: dryRun)
        let source: any ForeignSource =
            if format == .pass {
                try PasswordStoreFolder(path, before: transfer.checkOpen)
            } else {
                try FormattedFile(
                    path, format, isToBeCut: remove && !dryRun,
                    until: Deadline(milliseconds: storeOptions.limit() ?? ImportCommand.longestWait))
            }
        let found = source.found
        let bar = ProgressBar()
        try withBar(bar) { () throws(TokenKeepError) in
            for (index, entry) in transfer.order(found.entries, of: format).enumerated() {
                try transfer.run(entry)
                bar.show(done: index + 1, of: found.entries.count)
            }
        }
        try finish(transfer, source)
    }

    /// Removes the imported entries from the source if `--remove` was given, and prints the numbers of entries.
    private func finish(_ transfer: ForeignImport, _ source: any ForeignSource) throws {
        let malformed = source.found.malformed
        for entry in malformed {
            Terminal.warn(
                TokenKeepError(.corrupt, "\(entry.place) cannot be imported: \(entry.reason)", hint: entry.hint))
        }
        for entry in source.found.entries {
            guard let remark = entry.remark else { continue }
            Terminal.warn(TokenKeepError(.unsupported, "\(entry.place): \(remark.text)", hint: remark.hint))
        }
        var failure: TokenKeepError?
        var removed = 0
        let isRemoving = remove && !dryRun
        if isRemoving {
            do throws(TokenKeepError) {
                try cut(transfer, source, counting: &removed)
            } catch {
                // Throw this error only after the numbers are printed, because the imported items stay in the store.
                failure = error
            }
        }
        let words = [
            "\(dryRun ? "would import" : "imported") \(transfer.imported)", "already there \(transfer.present)",
            "kept \(transfer.kept)", "not readable \(malformed.count)",
            transfer.refused > 0 ? "refused \(transfer.refused)" : nil, isRemoving ? "removed \(removed)" : nil,
        ]
        try Terminal.write(words.compactMap(\.self).joined(separator: ", ") + "\n")
        if let failure { throw failure }
        if !malformed.isEmpty || transfer.refused > 0 { throw ExitCode(Status.corrupt.exitCode) }
    }

    /// Removes every entry from the source whose item contains all of it, and counts the removed entries. Warns of each
    /// entry that stays.
    private func cut(
        _ transfer: ForeignImport, _ source: any ForeignSource, counting removed: inout Int
    ) throws(TokenKeepError) {
        let reason = { (entry: ForeignEntry) -> String? in
            // Programs use the first entry of a name: without this entry, they would use the later entry.
            if transfer.shadowing.contains(entry.name) { return "a later entry has the same name and another secret" }
            return entry.rest.map { "the item does not keep \($0)" }
        }
        for entry in transfer.verified {
            guard let reason = reason(entry) else { continue }
            Terminal.warn(TokenKeepError(.unsupported, "\(entry.place) stays in the source: \(reason)"))
        }
        let whole = transfer.verified.filter { reason($0) == nil }
        if !whole.isEmpty { try source.remove(whole, counting: &removed) }
    }

    private func path(of format: ForeignFormat) throws(TokenKeepError) -> String {
        if let file { return file }
        // Use the environment variables that the other programs use, but not if this process has raised privileges.
        let variable = { (name: String) in Privileges.areRaised ? nil : ToolPlaces.variable(name) }
        guard let home = variable("HOME") ?? HomeDirectory.path() else {
            throw TokenKeepError(.invalid, "the user has no home", hint: "name the file")
        }
        let usual = format.usualPaths(home: home, variable)
        guard let first = usual.first else {
            throw TokenKeepError(
                .invalid, "no file is named", hint: "tokenkeep import --from \(format.rawValue) FILE")
        }
        let present = usual.filter(ToolPlaces.exists)
        if present.count > 1 {
            Terminal.explain("\(present[1]) is another such file: import it by its name")
        }
        return present.first ?? first
    }
}
