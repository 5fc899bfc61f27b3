import ArgumentParser
import Glibc
import TokenKeepCore
import TokenKeepFleet
import TokenKeepSession

/// `tokenkeep fleet run`.
struct FleetRunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Publish this device's sessions and obey sign-outs, until interrupted.",
        discussion: """
            One process per device does so; a second one ends with exit code 4. The unit tokenkeep-fleet.service runs it in a \
            login session. Nothing else on this device waits for the registry: without network all works as if there were \
            no fleet, and what has changed is published later.

              systemctl --user enable --now tokenkeep-fleet
              tokenkeep fleet run --once
            """.withWholeExamples)

    @Flag(help: "Publish and obey once, and end: exit 4 if the registry is away.")
    var once = false

    @OptionGroup
    var server: SessionServerOptions

    @OptionGroup
    var options: FleetOptions

    func run() throws {
        // The programs that this process starts need these signal dispositions. They are set once here, so that no
        // start of a program changes them.
        signal(SIGPIPE, SIG_IGN)
        signal(SIGCHLD, SIG_DFL)
        let sessionOptions = try server.options(options.storeOptions, isForMany: true)
        let runner = try FleetRunner(options.open(), sessionOptions)
        let network = once ? -1 : NetworkWatch.open()
        let surroundings = RunnerSurroundings(
            prepare: { session in for hook in LogoutHooks.programs() { hook.register(in: session) } },
            ended: { service, account, reason in
                Terminal.explain("signed out of \(service) as \(account) by an order (\(reason))")
            },
            warn: { Terminal.warn($0) }, machine: (ThisMachine.name, ThisMachine.system), network: network,
            drainNetwork: { NetworkWatch.drain(network) })
        guard once else { return try runner.run(surroundings) }
        _ = try Fleet.reporting { () throws(RegistryFailure) in try runner.synchronize(surroundings) }
    }
}

/// `tokenkeep fleet rename NAME`.
struct FleetRenameCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rename",
        abstract: "Give this device another name.",
        discussion: """
              tokenkeep fleet rename laptop
            """.withWholeExamples)

    @Argument(help: "The name, at most 64 bytes.")
    var name: String

    @OptionGroup
    var options: FleetOptions

    func run() throws { try options.open().enter(name: name, system: ThisMachine.system) }
}

/// `tokenkeep fleet leave`.
struct FleetLeaveCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "leave",
        abstract: "Take this device out of the fleet; its sessions stay.",
        discussion: """
            --device takes another device out, which is lost: sign it out first, because its orders go with it. That device \
            still has the user's key and etcd's password, and a process that runs there enters again.

              tokenkeep fleet leave
              tokenkeep fleet leave --device old-laptop
            """.withWholeExamples)

    @Option(
        help: ArgumentHelp("Another device, by its name or id.", valueName: "device"),
        completion: FleetCompletion.devices)
    var device: String?

    @Flag(help: "Forget the fleet here alone, without the registry: another device takes this one out.")
    var local = false

    @Flag(help: "Forget the fleet's key, too: without it nobody can administer the fleet any more.")
    var forgetFleetKey = false

    @OptionGroup
    var options: FleetOptions

    func run() throws {
        guard !local || device == nil else { throw TokenKeepError(.invalid, "--local excludes --device") }
        if local { return try forget() }
        let fleet = try options.open()
        guard let device else {
            try check(fleet.file.name, fleet.secrets)
            try fleet.remove(device: fleet.device)
            return try fleet.forget()
        }
        try remove(device, from: fleet)
    }

    /// Removes the fleet's file and keys from this device, even if only one of them is left.
    private func forget() throws {
        let store = try options.storeOptions.open()
        let name = try options.fleet ?? FleetFile.read(nil).name
        try FleetPaths.check(fleet: name)
        try check(name, FleetSecrets.find(name, in: store))
        try Fleet.forget(name, store)
    }

    private func check(_ name: String, _ secrets: FleetSecrets?) throws(TokenKeepError) {
        guard !Fleet.isRunning(name) else {
            throw TokenKeepError(
                .busy, "tokenkeep fleet run would enter the fleet again",
                hint: "stop it first: systemctl --user disable --now tokenkeep-fleet")
        }
        guard forgetFleetKey || secrets?.fleetKey == nil else {
            throw TokenKeepError(
                .conflict, "this device has the key of the fleet \(name), perhaps the only one",
                hint: "without the key nobody administers the fleet; --forget-fleet-key leaves all the same")
        }
    }

    private func remove(_ device: String, from fleet: Fleet) throws {
        let listing = try fleet.listing()
        let id = try fleet.deviceID(device, in: listing)
        let left = listing.sessions.filter { $0.device == id }
        guard left.allSatisfy({ $0.order == nil }) else {
            throw TokenKeepError(
                .conflict, "orders wait for the device \(device), and would go with it",
                hint: "wait until it has obeyed; if it never will, end its sessions at the providers' pages")
        }
        try fleet.remove(device: id)
        guard !left.isEmpty else { return }
        Terminal.warn(
            TokenKeepError(
                .unavailable, "the device \(device) stays signed in: \(left.count) of its sessions had no order",
                hint: "sign it out before you take it out: tokenkeep fleet sign-out SERVICE ACCOUNT --device NAME"))
    }
}
