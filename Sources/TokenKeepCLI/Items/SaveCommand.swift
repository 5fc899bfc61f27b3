import ArgumentParser
import TokenKeepCore
import TokenKeepEngine

/// `tokenkeep save SERVICE ACCOUNT`.
struct SaveCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "save",
        abstract: "Save a secret, replacing what is there.",
        discussion: """
            The secret is read from standard input, byte for byte up to its end; on a terminal it is asked for and not \
            shown. It is never an argument. When the command has succeeded, the item survives a crash.

              printf %s "$TOKEN" | tokenkeep save example.com ann
              tokenkeep save example.com ann --label "Ann's token" --expires +30d
              tokenkeep save example.com ann --if-absent < token.bin

            An empty input is refused: a command that failed before the pipe leaves one, and it would replace a good token.

            echo appends a newline, which becomes a part of the secret: use printf %s, or --strip-newline. If such a \
            newline is the only one of a piped secret, a hint names it.
            """.withWholeExamples)

    /// The hint in the error about a secret that was given as an argument.
    static let secretHint =
        "arguments are seen by every user of this machine and kept by the shell; "
        + "give the secret on standard input: printf %s \"$TOKEN\" | tokenkeep save SERVICE ACCOUNT"

    @Argument(help: "What the secret is for: example.com.", completion: NameCompletion.services)
    var service: String

    @Argument(help: "Whose it is; may be empty: ''.", completion: NameCompletion.accounts)
    var account: String

    @Argument(help: .hidden)
    var surplus: [String] = []

    @Option(help: ArgumentHelp("What a person reads in a list.", valueName: "text"))
    var label: String?

    private static let levels = AccessLevel.allCases.filter { $0 != .memoryOnly }.map(\.word)

    @Option(
        help: ArgumentHelp(
            "When the item may be read: \(levels.joined(separator: ", ")).",
            discussion: """
                Without it an existing item keeps its level; a new one gets after-first-unlock. Levels \
                this-device-only need tokenkeep device choose.
                """,
            valueName: "word"),
        completion: .list(levels))
    var level: String?

    @Option(
        help: ArgumentHelp(
            "When the secret ends: 2030-12-31T18:00:00Z, 2030-12-31 (UTC), @1924970400, +12h, +30d.",
            valueName: "time"))
    var expires: String?

    @Option(
        name: .customLong("attribute"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp("Metadata to keep with the item, not secret; may be given again.", valueName: "name=value"))
    var attributes: [String] = []

    @Flag(help: "Save a new item only.")
    var ifAbsent = false

    @Option(help: ArgumentHelp("Save only over this version, as load --json shows it.", valueName: "version"))
    var ifVersion: String?

    @Flag(help: "Remove one newline (LF or CR LF) from the end of the secret.")
    var stripNewline = false

    @Flag(help: "Write a JSON object with the version of the saved item.")
    var json = false

    @Flag(help: "Save an empty secret too.")
    var allowEmpty = false

    @Flag(help: "Refuse unless keys enforce the level: see tokenkeep protection.")
    var requireEnforced = false

    @Flag(help: "Ask for the vault's password at each use; the vault must have one.")
    var userPresence = false

    @Flag(help: "Allow copies on the user's other machines.")
    var synchronizable = false

    @OptionGroup
    var options: ExplainedStoreOptions

    func prepare() throws {
        guard surplus.isEmpty else {
            throw TokenKeepError(.invalid, "the secret is never an argument", hint: SaveCommand.secretHint)
        }
        try options.store.passwordOptions.refuseStandardInput(because: "the secret is read from standard input")
    }

    func run(_ store: Store) throws {
        try SaveCommand.refuseSavingInMemory(store)
        let name = try options.store.name(service, account)
        // Check all options before the user is prompted for the secret.
        _ = try request(name, secret: SecretBytes(count: 0) { _ in })
        let secret = try secret(for: name)
        let outcome = try store.save(request(name, secret: secret))
        explain(outcome, of: secret)
        if json { try Terminal.write(JSONOutput.text(JSONOutput.Saved(outcome))) }
    }

    private func explain(_ outcome: SaveOutcome, of secret: SecretBytes) {
        if SecretInput.endsWithTheOnlyNewline(secret) {
            Terminal.explain(
                "the newline at the end of the input was saved as a part of the secret",
                hint: "to save the secret without it: printf %s, or --strip-newline")
        }
        if !outcome.pendingModules.isEmpty {
            let modules = outcome.pendingModules.joined(separator: " and ")
            Terminal.explain(
                "\(modules) cannot be reached: the item is kept in the \(outcome.module) and goes there later")
        }
    }

    /// Throws if the stack may save the item in the memory of this process.
    ///
    /// Such an item would be lost without a message when the command ends. The save would also remove an earlier item
    /// with this name from the later modules of the stack.
    private static func refuseSavingInMemory(_ store: Store) throws(TokenKeepError) {
        guard !store.savingModules.contains("memory") else {
            throw TokenKeepError(
                .invalid, "an item that the stack saves in memory would end with this command",
                hint: "leave the module memory out of the stack's lines for save and any")
        }
    }

    private func secret(for name: ItemName) throws(TokenKeepError) -> SecretBytes {
        var secret = try SecretInput.read(for: name)
        let isInputEmpty = secret.count == 0
        if stripNewline { secret = try SecretInput.withoutNewline(secret) }
        guard secret.count > 0 || allowEmpty else {
            let input = isInputEmpty ? "nothing" : "only a newline"
            throw TokenKeepError(
                .invalid, "the secret is empty: \(input) came from standard input",
                hint: "see why the command before the pipe wrote \(input); to save an empty secret: --allow-empty")
        }
        return secret
    }

    private func request(_ name: ItemName, secret: SecretBytes) throws(TokenKeepError) -> SaveRequest {
        try SaveRequest(
            name: name, secret: secret,
            accessLevel: accessLevel(),
            flags: flags, label: label, attributes: itemAttributes(),
            expiresAt: expires.map { text throws(TokenKeepError) in try UnixTime(expiry: text) },
            precondition: precondition())
    }

    private func accessLevel() throws(TokenKeepError) -> AccessLevel? {
        guard let level else { return nil }
        let accessLevel = try AccessLevel(word: level)
        guard accessLevel != .memoryOnly else {
            throw TokenKeepError(
                .invalid, "an item of level memory-only would end with this command",
                hint: "the level is for programs that keep a store open; use when-unlocked")
        }
        return accessLevel
    }

    private var flags: ItemFlags {
        var flags: ItemFlags = []
        if requireEnforced { flags.insert(.requireEnforced) }
        if userPresence { flags.insert(.userPresence) }
        if synchronizable { flags.insert(.synchronizable) }
        return flags
    }

    private func precondition() throws(TokenKeepError) -> SaveRequest.Precondition {
        guard let ifVersion else { return ifAbsent ? .absent : .none }
        guard !ifAbsent else {
            throw TokenKeepError(.invalid, "--if-absent and --if-version exclude each other")
        }
        return .version(try Versions.parse(ifVersion))
    }

    private func itemAttributes() throws(TokenKeepError) -> ItemAttributes {
        var pairs: [(name: String, value: String)] = []
        for attribute in attributes {
            guard let equals = attribute.firstIndex(of: "=") else {
                throw TokenKeepError(.invalid, "an attribute is not of the form name=value")
            }
            pairs.append((String(attribute[..<equals]), String(attribute[attribute.index(after: equals)...])))
        }
        return try ItemAttributes(pairs)
    }
}

/// Parses versions of items.
enum Versions {
    /// Parses a version in the form that `load --json` shows. Throws ``Status/invalid`` for 0 and for other text.
    static func parse(_ text: String) throws(TokenKeepError) -> UInt64 {
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let version = UInt64(text), version != 0
        else {
            throw TokenKeepError(
                .invalid, "the version is not one of an item", hint: "tokenkeep load --json shows versions")
        }
        return version
    }
}
