import ArgumentParser
import Glibc
import TokenKeepCore
import TokenKeepEngine

/// `tokenkeep load SERVICE [ACCOUNT]`.
struct LoadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "load",
        abstract: "Write a secret to standard output.",
        discussion: """
            The bytes are written as they were saved; a newline follows on a terminal alone. An expired item is loaded \
            with a warning on standard error.

              TOKEN=$(tokenkeep load example.com ann)
              tokenkeep load example.com ann > token.bin
              tokenkeep load example.com ann --fresh-for 60s --json

            $( ) removes newlines at the end, and no shell variable holds a NUL: use a file or a pipe for such a secret.

            In JSON the secret is the member "secret", or "secret_base64" if the secret is not UTF-8; exactly one of \
            them is present. The other members are those of list --json. A script replaces the item only if nobody \
            changed it meanwhile (exit code 6) with the member "version": save --if-version.

            Without an account the only account of the service is loaded; items that list does not show do not count.

            With --attribute the only item of any program with these attributes is loaded, and nothing is asked:

              tokenkeep load --attribute xdg:schema=org.git.Password --attribute server=github.com
            """.withWholeExamples)

    @Argument(help: "What the secret is for.", completion: NameCompletion.services)
    var service: String?

    @Argument(
        help: "Whose it is; may be left out if the service has one account.", completion: NameCompletion.accounts)
    var account: String?

    @Option(
        help: ArgumentHelp(
            "Load the item of any program with this attribute. May be repeated; see search.", valueName: "name=value"))
    var attribute: [String] = []

    @Flag(help: "Write a JSON object: the members of list --json, and secret or secret_base64.")
    var json = false

    @Flag(help: "Refuse an expired item.")
    var unexpired = false

    @Option(
        help: ArgumentHelp("Refuse an item that expires within this time: 60 (seconds), 5m, 1h.", valueName: "duration")
    )
    var freshFor: String?

    @OptionGroup
    var options: ExplainedStoreOptions

    func validate() throws { try checkAttributes() }

    func run() throws {
        guard attribute.isEmpty, let service else { return try writeFound() }
        let freshSeconds = try freshSeconds()
        let item = try loadItem(of: service)
        try check(item.details, freshSeconds: freshSeconds)
        if json { return try writeJSON(item) }
        try item.secret.withUnsafeBytes { try Terminal.write($0) }
        if isatty(STDOUT_FILENO) == 1 { try Terminal.write("\n") }
    }

    private func loadItem(of service: String) throws(TokenKeepError) -> TokenItem {
        let store = try options.open()
        let deadline = Deadline(milliseconds: store.timeoutMilliseconds)
        let account =
            if let account { account } else { try onlyAccount(of: service, store, deadline) }
        do throws(TokenKeepError) {
            return try store.load(service: service, account: account, until: deadline)
        } catch {
            guard error.status == .notFound else { throw error }
            throw hinting(error, of: service, account: account, deadline)
        }
    }

    /// The only account of the service.
    ///
    /// - Throws: ``Status/invalid`` if the service has several accounts, ``Status/notFound`` if it has none, and the
    ///   error of a module that could not be listed, because that module may have another account.
    private func onlyAccount(
        of service: String, _ store: Store, _ deadline: Deadline
    ) throws(TokenKeepError) -> String {
        let listing = try store.list(service: service, until: deadline)
        let accounts = listing.items.map(\.name.account)
        if accounts.count > 1 {
            let names = accounts.map { $0.isEmpty ? "''" : $0 }.joined(separator: ", ")
            throw TokenKeepError(
                .invalid, "\(service) has \(accounts.count) accounts: \(names)",
                hint: "name one: tokenkeep load SERVICE ACCOUNT")
        }
        if let problem = listing.problem {
            throw TokenKeepError(
                problem.status, "\(service) may have more accounts: \(problem.message)", module: problem.module,
                hint: "name the account, or \(problem.hint ?? "try again")")
        }
        guard let account = accounts.first else {
            throw hinting(TokenKeepError(.notFound, "no item of \(service)"), of: service, account: nil, deadline)
        }
        return account
    }

    /// Adds a hint to an error if standard error is a terminal: the service with the most similar name or, if the
    /// service exists, its account with the most similar name.
    private func hinting(
        _ error: TokenKeepError, of service: String, account: String?, _ deadline: Deadline
    ) -> TokenKeepError {
        // If no person reads the hint, do not list the items, which may take seconds. Never prompt or unlock for a
        // hint.
        guard Terminal.showsErrors else { return error }
        var options = self.options.store
        options.interactive = false
        guard let listing = try? options.open(nil, usesPassword: false).list(until: deadline) else { return error }
        let names = listing.items.map(\.name)
        let hint: String?
        if let account, names.contains(where: { $0.service == service }) {
            let accounts = names.filter { $0.service == service }.map(\.account)
            hint = NearestName.of(account, among: accounts).map { "the nearest account of \(service) is \($0)" }
        } else {
            hint = NearestName.of(service, among: names.map(\.service)).map { "the nearest service is \($0)" }
        }
        return TokenKeepError(
            error.status, error.message, module: error.module, hint: hint ?? error.hint, isAbsence: error.isAbsence)
    }

    private func freshSeconds() throws(TokenKeepError) -> Int64? {
        guard let freshFor else { return unexpired ? 0 : nil }
        let milliseconds = try Durations.milliseconds(freshFor, of: "--fresh-for")
        return milliseconds / 1000 + (milliseconds % 1000 == 0 ? 0 : 1)
    }

    /// Throws ``Status/expired`` if an item has expired, or expires within `freshSeconds`. If `freshSeconds` is nil,
    /// only warns if the item has expired.
    private func check(_ item: ItemDetails, freshSeconds: Int64?) throws(TokenKeepError) {
        guard let expiry = item.expiresAt else { return }
        let now = UnixTime.now
        let isExpired = expiry <= now
        let left = isExpired ? 0 : expiry.rawValue.subtractingReportingOverflow(now.rawValue).partialValue
        if let freshSeconds, isExpired || left < freshSeconds {
            throw TokenKeepError(
                .expired, "\(item.name) \(isExpired ? "expired" : "expires") at \(expiry.iso8601)",
                hint: "save a new secret\(isExpired ? "" : ", or ask for less: --fresh-for")")
        }
        if isExpired {
            Terminal.warn(
                TokenKeepError(
                    .expired, "\(item.name) expired at \(expiry.iso8601)", hint: "to refuse such an item: --unexpired"))
        }
    }

    private func writeJSON(_ item: TokenItem) throws {
        let secret = try SecretJSON(item.secret)
        var writer = JSONItemWriter(indentation: 0)
        writer.appendHead(item.details)
        writer.key(secret.member)
        try writer.flush { try Terminal.write($0) }
        try secret.value.withUnsafeBytes { try Terminal.write($0) }
        writer.appendTail(item.details)
        writer.append("\n")
        try writer.flush { try Terminal.write($0) }
    }
}
