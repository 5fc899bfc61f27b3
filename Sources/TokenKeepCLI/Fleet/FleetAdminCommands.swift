import ArgumentParser
import Glibc
import TokenKeepCore
import TokenKeepFleet

/// `tokenkeep fleet admin …`.
struct FleetAdminCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "admin",
        abstract: "Administer a fleet of several users.",
        discussion: """
            For the device that began the fleet: it alone has the fleet's key. The password of etcd's root is read from \
            standard input.

              tokenkeep fleet admin init < root-password
              tokenkeep fleet admin add-user ann < root-password > code
              tokenkeep fleet admin sign-out ann --reason "left the company" < root-password
            """.withWholeExamples,
        subcommands: [
            FleetAdminInitCommand.self, FleetAdminAddUserCommand.self, FleetAdminRemoveUserCommand.self,
            FleetAdminListCommand.self, FleetAdminPruneCommand.self, FleetAdminSignOutCommand.self,
        ])

    func run() throws {
        throw UsageError.missingCommand(of: "fleet admin")
    }
}

/// The options of the commands `fleet admin …`.
struct FleetAdminOptions: ParsableArguments {
    @Flag(help: "The registry has no users: read no password.")
    var noPassword = false

    @OptionGroup
    var options: FleetOptions

    func open() throws(TokenKeepError) -> FleetAdmin { try FleetAdmin(options.open(), password: password()) }

    func password() throws(TokenKeepError) -> SecretBytes? {
        guard !noPassword else { return nil }
        guard isatty(STDIN_FILENO) == 0 else { return try HiddenInput.ask("password of etcd's root: ", .password) }
        return try PasswordInput.lines(1)[0]
    }
}

/// `tokenkeep fleet admin init`.
struct FleetAdminInitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Turn etcd's users on, with a root, an auditor's role, and a user for this person's devices.",
        discussion: """
            The password on standard input becomes that of etcd's root; if etcd has a root already, it is the present one. \
            This device gets its own user. Other devices of the fleet join again, with a new code. Run it again after a \
            failure: what is there stays.

              tokenkeep fleet admin init < root-password
            """.withWholeExamples)

    @OptionGroup
    var admin: FleetAdminOptions

    func run() throws {
        guard let password = try admin.password() else {
            throw TokenKeepError(.invalid, "etcd's root needs a password", hint: "leave out --no-password")
        }
        let fleet = try admin.options.open()
        let administration = try FleetAdmin(fleet, password: password)
        FleetWarnings.check(version: try administration.version())
        var secrets: FleetSecrets
        let file: FleetFile
        (secrets, file) = try administration.turnUsersOn(rootPassword: password)
        try secrets.save(file.name, in: fleet.store)
        try file.write()
        secrets.password = nil
    }
}

/// `tokenkeep fleet admin add-user USER`.
struct FleetAdminAddUserCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add-user",
        abstract: "Make a user with a role of its own, and a join code for the user's first device.",
        discussion: """
            Of a user that is there the password changes: its devices join again. The code and its words are written as \
            tokenkeep fleet invite does.

              tokenkeep fleet admin add-user ann < root-password > code
            """.withWholeExamples)

    @Argument(help: "The person.")
    var user: String

    @Option(help: ArgumentHelp("How long the code is valid.", valueName: "duration"))
    var expires = "1d"

    @OptionGroup
    var admin: FleetAdminOptions

    func run() throws {
        let endsAt = try FleetInviteCommand.end(expires)
        let administration = try admin.open()
        let fleet = try admin.options.open()
        let authority = try FleetFiles.authority(fleet.file.caFile)
        let credentials = try administration.addUser(user)
        try FleetInviteCommand.write(
            administration.invitation(for: user, credentials, authority: authority, endsAt: endsAt))
    }
}

/// `tokenkeep fleet admin remove-user USER`.
struct FleetAdminRemoveUserCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove-user",
        abstract: "Take a user, its role and its keys away.",
        discussion: """
            Sign the user out first: orders go with the user. A watch that a device has open goes on until the device or \
            etcd's member starts anew; it sees nothing that it can open but its own.

              tokenkeep fleet admin remove-user ann < root-password
            """.withWholeExamples)

    @Argument(help: "The person.")
    var user: String

    @OptionGroup
    var admin: FleetAdminOptions

    func run() throws {
        try admin.open().removeUser(user)
        Terminal.explain("watches that devices of \(user) have open end when etcd's members restart")
    }
}

/// `tokenkeep fleet admin list`.
struct FleetAdminListCommand: ParsableCommand {
    private struct User: Encodable {
        private enum CodingKeys: String, CodingKey {
            case user, id, devices, sessions
            case isAboveLimits = "above_limits"
        }

        let user, id: String
        let devices, sessions: JSONOutput.Nullable<Int>
        let isAboveLimits: Bool
    }

    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show the users, with the numbers of their devices and sessions.",
        discussion: """
            etcd has no limits for a user: who is above those of a fleet is marked.

              tokenkeep fleet admin list < root-password
            """.withWholeExamples)

    @Flag(help: "Write a JSON array.")
    var json = false

    @OptionGroup
    var admin: FleetAdminOptions

    func run() throws {
        let (users, problem) = try admin.open().users()
        try Terminal.write(json ? jsonText(users) : text(users))
        // Report the problem only now, after the list of the users who could be read.
        if let problem { throw problem }
    }

    private func jsonText(_ users: [FleetAdmin.User]) throws -> String {
        try JSONOutput.text(
            users.map {
                User(
                    user: $0.name, id: $0.id, devices: JSONOutput.Nullable($0.devices),
                    sessions: JSONOutput.Nullable($0.sessions), isAboveLimits: $0.isAboveLimits)
            })
    }

    private func text(_ users: [FleetAdmin.User]) -> String {
        func number(_ count: Int?) -> String { count.map { "\($0)" } ?? "unknown" }
        var table = Table(header: ["USER", "DEVICES", "SESSIONS", "LIMITS", "ID"])
        for user in users {
            table.add([
                user.name, number(user.devices), number(user.sessions), user.isAboveLimits ? "above" : "", user.id,
            ])
        }
        return table.text
    }
}

/// `tokenkeep fleet admin prune --older-than DURATION`.
struct FleetAdminPruneCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "prune",
        abstract: "Remove devices that were not seen for long.",
        discussion: """
            A line for each device: user, name, id. Their sessions go on at the providers. --dry-run removes nothing.

              tokenkeep fleet admin prune --older-than 180d --dry-run < root-password
            """.withWholeExamples)

    @Option(help: ArgumentHelp("How long a device was not seen.", valueName: "duration"))
    var olderThan: String

    @Flag(help: "Name the devices, and remove none.")
    var dryRun = false

    @OptionGroup
    var admin: FleetAdminOptions

    func run() throws {
        let seconds = try Durations.milliseconds(olderThan, of: "--older-than") / 1000
        let administration = try admin.open()
        // Query the registry once first, because its answer contains the registry's time, and the ages of devices are
        // measured by this time.
        _ = try administration.names()
        let (devices, problem) = try administration.old(olderThan: seconds)
        for (user, id, device) in devices {
            let words = [user, device.value.name, device.id].map(Terminal.printable)
            try Terminal.write(words.joined(separator: "\t") + "\n")
            if !dryRun { try administration.remove(device.id, of: id) }
        }
        if let problem { throw problem }
    }
}

/// `tokenkeep fleet admin sign-out [USER]`.
struct FleetAdminSignOutCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign-out",
        abstract: "Order the end of a user's sessions on all devices.",
        discussion: """
            Exit 0: the orders are durable, and giving them again changes nothing. Exit 8: there is no such user. Without \
            USER the users are meant who have a session of the person that --issuer and --subject, or --email name. Exit 9: \
            the orders are durable, but users who have too many keys could not be looked at; they are named.

              tokenkeep fleet admin sign-out ann --reason "left the company" < root-password
              tokenkeep fleet admin sign-out --issuer https://id.example.com --subject 248 --before @1764201600 < password
            """.withWholeExamples)

    @Argument(help: "The person.")
    var user: String?

    @Option(help: ArgumentHelp("Only sessions of this account.", valueName: "account"))
    var account: String?

    @Option(help: ArgumentHelp("Only sessions of this provider.", valueName: "provider"))
    var provider: String?

    @Option(help: ArgumentHelp("Only sessions of this issuer's subject.", valueName: "url"))
    var issuer: String?

    @Option(help: ArgumentHelp("The person at the issuer.", valueName: "subject"))
    var subject: String?

    @Option(help: ArgumentHelp("Only sessions of the person with this address.", valueName: "address"))
    var email: String?

    @Option(help: ArgumentHelp("Only sessions that began before: a date and time, or @SECONDS.", valueName: "time"))
    var before: String?

    @Option(help: ArgumentHelp("What the devices say about it.", valueName: "text"))
    var reason = "administrator"

    @OptionGroup
    var admin: FleetAdminOptions

    func run() throws {
        guard (issuer == nil) == (subject == nil) else {
            throw TokenKeepError(.invalid, "--issuer and --subject belong together")
        }
        guard user != nil || subject != nil || email != nil else {
            throw TokenKeepError(.invalid, "name a user, or a person by --issuer and --subject or by --email")
        }
        guard (1...200).contains(reason.utf8.count) else {
            throw TokenKeepError(.invalid, "--reason has 1 to 200 bytes")
        }
        var selection = FleetAdmin.Selection()
        (selection.account, selection.provider, selection.email) = (account, provider, email)
        (selection.issuer, selection.subject) = (issuer, subject)
        selection.before = try before.map { try UnixTime(expiry: $0).rawValue }
        selection.reason = reason
        let administration = try admin.open()
        let done: (count: Int, problem: TokenKeepError?)
        do throws(TokenKeepError) {
            done = try administration.signOut(user, selection)
        } catch {
            guard error.status == .notFound else { throw error }
            Terminal.report(error)
            throw ExitCode(FleetAdminSignOutCommand.unknownUser)
        }
        try Terminal.write("\(done.count) ordered\n")
        guard let problem = done.problem else { return }
        Terminal.report(problem)
        throw ExitCode(FleetAdminSignOutCommand.unlistedUsers)
    }

    /// The exit code if the fleet does not know the person. It has no other meaning, so a calling program need not try
    /// again.
    private static let unknownUser: Int32 = 8
    /// The exit code if some users could not be listed, and the orders for all other users are durable. It has no other
    /// meaning.
    private static let unlistedUsers: Int32 = 9
}
