import ArgumentParser
import TokenKeepCore
import TokenKeepFleet
import TokenKeepOAuth
import TokenKeepSession

/// `tokenkeep fleet sign-out SERVICE ACCOUNT`.
struct FleetSignOutCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign-out",
        abstract: "End a session on other devices.",
        discussion: """
            Exit 0: the orders are durable. A device that runs tokenkeep fleet run obeys within seconds, one that is off \
            when it next reaches the registry. Until then its programs work as before, and its token is valid at the \
            provider: end it there, too, if the device is lost. --wait waits for the devices; the exit code is 4 if some \
            have not answered.

            An order names the session that it ends: who signs in again stays signed in.

              tokenkeep fleet sign-out github.com ann --device laptop
              tokenkeep fleet sign-out github.com ann --others --wait 30s
              tokenkeep fleet sign-out github.com ann --everywhere
            """.withWholeExamples)

    @Argument(help: "What the session is for.", completion: FleetCompletion.services)
    var service: String

    @Argument(help: "Whose it is.", completion: FleetCompletion.accounts)
    var account: String

    @Option(
        help: ArgumentHelp("The device, by its name or id.", valueName: "device"), completion: FleetCompletion.devices)
    var device: String?

    @Flag(help: "All devices but this one.")
    var others = false

    @Flag(help: "All devices, also those that have not published the session yet.")
    var everywhere = false

    @Option(help: ArgumentHelp("Wait so long for the devices to obey.", valueName: "duration"))
    var wait: String?

    @Flag(help: "Write a JSON object for each order in a line.")
    var json = false

    @OptionGroup
    var server: SessionServerOptions

    @OptionGroup
    var options: FleetOptions

    func run() throws {
        let scope = try chosen()
        let limit = try wait.map { try Durations.timeout($0) }
        let fleet = try options.open()
        let listing = try fleet.listing()
        let (sessions, isHere) = try fleet.targets(service, account, scope, in: listing)
        if case .everywhere = scope { try fleet.orderEverywhere(service, account, reason: "sign-out") }
        let orders = try fleet.order(sessions, reason: "sign-out", in: listing)
        if isHere { try endHere(fleet) }
        say(orders)
        guard let limit else { return try show(orders, [:]) }
        let results = try fleet.results(of: orders, until: Deadline(milliseconds: limit)) { left in
            if Terminal.showsErrors { Terminal.writeError("waiting for \(CountedNouns.devices(left))\n") }
        }
        try show(orders, results)
        let silent = orders.filter { (results[$0.id]?.outcome ?? .expired) == .expired }.map(\.deviceName)
        guard silent.isEmpty else {
            throw TokenKeepError(
                .unavailable, "not obeyed yet by \(silent.joined(separator: ", "))", module: "registry",
                hint: "the orders wait for 30 days; tokenkeep fleet list shows them")
        }
    }

    private func chosen() throws(TokenKeepError) -> OrderScope {
        guard (device == nil ? 0 : 1) + (others ? 1 : 0) + (everywhere ? 1 : 0) == 1 else {
            throw TokenKeepError(.invalid, "give one of --device, --others and --everywhere")
        }
        return device.map { .device($0) } ?? (others ? .others : .everywhere)
    }

    private func endHere(_ fleet: Fleet) throws {
        let options = try server.options(self.options.storeOptions)
        let session = try SessionEngine(fleet.store, service: service, account: account, options)
        guard try session.info().state != .signedOut else { return }
        for hook in LogoutHooks.programs() { hook.register(in: session) }
        let report = try session.end()
        if report.revocation == .queued || report.revocation == .waitingForUnlock {
            Terminal.explain("signed out here; tokenkeep session flush revokes the token")
        }
    }

    /// Prints the web pages on which a user can end sessions at the providers, because an order reaches devices and not
    /// providers.
    private func say(_ orders: [GivenOrder]) {
        let pages = Set(orders.compactMap(\.provider)).sorted().compactMap { name in
            ((try? ProviderFiles.standard.provider(named: name)) ?? nil)?[.sessionsPage]
        }
        for page in pages {
            Terminal.explain("a device that is lost or off keeps its token until then; end it at \(page)")
        }
    }

    private func show(_ orders: [GivenOrder], _ results: [String: ResultValue]) throws {
        for order in orders {
            let result = results[order.id]
            if json { try Terminal.write(JSONOutput.line(FleetJSON.Ordered(order, result))) }
            guard !json, wait != nil, let result else { continue }
            let words =
                switch result.outcome {
                case .done: "signed out, token \(result.revocation)"
                case .gone: "was signed out already"
                case .expired: "the order was older than 30 days"
                }
            try Terminal.write("\(Terminal.printable(order.deviceName)): \(words)\n")
        }
    }
}
