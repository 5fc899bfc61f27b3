import ArgumentParser
import CSystemShims
import TokenKeepCore
import TokenKeepFleet
import TokenKeepSession

/// `tokenkeep fleet list [SERVICE [ACCOUNT]]`.
struct FleetListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show the sessions of all devices of yours.",
        discussion: """
            This device's sessions are marked with *. --cached shows the last list, without network, and its date.

              tokenkeep fleet list
              tokenkeep fleet list github.com ann --json
            """.withWholeExamples)

    @Argument(help: "Only sessions of this service.", completion: FleetCompletion.services)
    var service: String?

    @Argument(help: "Only sessions of this account.", completion: FleetCompletion.accounts)
    var account: String?

    @Flag(help: "Show the last list, and ask nobody.")
    var cached = false

    @Flag(help: "Write a JSON object.")
    var json = false

    @OptionGroup
    var options: FleetOptions

    func run() throws {
        let fleet = try options.open()
        let listing = cached ? try fleet.cachedListing() : try fleet.listing()
        let sessions = listing.sessions.filter { session in
            (service.map { $0 == session.value.service } ?? true)
                && (account.map { $0 == session.value.account } ?? true)
        }
        let problem = FleetListCommand.problem(listing)
        if json {
            return try Terminal.write(
                JSONOutput.text(FleetJSON.Listing(sessions, of: fleet, listing, problem: problem)))
        }
        if cached { Terminal.explain("as of \(UnixTime(listing.asOf).iso8601)") }
        try Terminal.write(FleetListCommand.table(sessions, fleet, listing))
        if let problem { Terminal.warn(problem) }
    }

    static func problem(_ listing: FleetListing) -> TokenKeepError? {
        guard listing.foreign > 0 else { return nil }
        return TokenKeepError(
            .corrupt,
            "\(listing.foreign) value\(listing.foreign == 1 ? "" : "s") of the registry cannot be opened: forged, moved or of a later version",
            module: "registry")
    }

    private static func table(_ sessions: [FleetSession], _ fleet: Fleet, _ listing: FleetListing) -> String {
        guard !sessions.isEmpty else { return "no sessions\n" }
        var table = Table(header: ["SERVICE", "ACCOUNT", "DEVICE", "STATE", "SIGNED IN", "SEEN", "ORDER"])
        for session in sessions {
            let device = listing.device(session.device)
            let mark = session.device == fleet.device ? " *" : ""
            let order =
                switch session.order {
                case .waiting(let since)?: "sign-out since \(UnixTime(since).iso8601)"
                case .expired?: "sign-out expired"
                case nil: ""
                }
            table.add([
                session.value.service, session.value.account, (device?.value.name ?? session.device) + mark,
                session.value.state, session.value.signedInAt.map { UnixTime($0).iso8601 } ?? "",
                seen(device, listing.asOf), order,
            ])
        }
        return table.text
    }

    /// The time at which a device was last seen, in words: for example "now" or "12 min ago".
    static func seen(_ device: FleetDevice?, _ now: Int64) -> String {
        guard let device, let at = device.seenAt else { return "never" }
        if device.isPresent { return "now" }
        let minutes = max(0, now - at) / 60
        if minutes < 120 { return "\(minutes) min ago" }
        return minutes < 2880 ? "\(minutes / 60) h ago" : "\(minutes / 1440) days ago"
    }
}

/// `tokenkeep fleet status`.
struct FleetStatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the registry, the devices, and what waits.",
        discussion: """
            The lag is the time since the oldest order was given that this device has not obeyed; the lease is the time \
            until the registry takes this device for gone. Sessions are unpublished if they have changed here and not yet \
            there.

              tokenkeep fleet status
              tokenkeep fleet status --json
            """.withWholeExamples)

    @Flag(help: "Write a JSON object.")
    var json = false

    @OptionGroup
    var options: FleetOptions

    func run() throws {
        let fleet = try options.open()
        let listing = try fleet.listing()
        let version = try Fleet.reporting { () throws(RegistryFailure) in try fleet.registry.version() }
        let waiting = listing.sessions.count { $0.order != nil }
        let backlog = try fleet.backlog(in: listing)
        let status = FleetJSON.Status(
            fleet: fleet.file.name, person: fleet.secrets.person, device: fleet.device,
            endpoint: fleet.registry.endpoint,
            version: version, hasHoles: ServerVersions.hasHoles(version), running: fleet.isRunning,
            revision: listing.revision, secondsAhead: fleet.registry.clockOffset ?? 0, waitingOrders: waiting,
            unreadable: listing.foreign, ordersHere: backlog.orders, lag: backlog.lag,
            lease: JSONOutput.Nullable(backlog.leaseLeft), isLeaseKnown: !backlog.isLeaseUnknown,
            unpublished: JSONOutput.Nullable(backlog.unpublished),
            devices: listing.devices.map { FleetJSON.Device($0, fleet) })
        if json { return try Terminal.write(JSONOutput.text(status)) }
        try Terminal.write(text(status, fleet, listing, backlog))
        FleetWarnings.check(version: version)
        if !status.running {
            Terminal.warn(
                TokenKeepError(
                    .unavailable, "nothing on this device publishes its sessions and obeys orders",
                    hint: "systemctl --user enable --now tokenkeep-fleet, or tokenkeep fleet run"))
        }
    }

    private func text(
        _ status: FleetJSON.Status, _ fleet: Fleet, _ listing: FleetListing, _ backlog: FleetBacklog
    ) -> String {
        let rows = [
            ("fleet", status.fleet), ("person", status.person), ("device", status.device),
            ("endpoint", "\(status.endpoint) (etcd \(status.version))"), ("revision", "\(status.revision)"),
            ("lease", backlog.isLeaseUnknown ? "unknown" : backlog.leaseLeft.map { "\($0) s" } ?? "none"),
            ("lag", backlog.orders == 0 ? "none" : "\(backlog.lag) s, \(backlog.orders) for this device"),
            ("unpublished sessions", backlog.unpublished.map { "\($0)" } ?? "unknown"),
            ("orders that wait", "\(status.waitingOrders)"), ("unreadable values", "\(status.unreadable)"),
        ]
        var table = Table(header: ["DEVICE", "ID", "SEEN", "JOINED", "SYSTEM"])
        for device in listing.devices {
            table.add([
                device.value.name + (device.id == fleet.device ? " *" : ""), device.id,
                FleetListCommand.seen(device, listing.asOf), UnixTime(device.value.joined).iso8601, device.value.system,
            ])
        }
        return rows.map { "\($0.0): \(Terminal.printable($0.1))\n" }.joined() + table.text
    }
}

/// `tokenkeep fleet watch`.
struct FleetWatchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Show the sessions of all devices as they change.",
        discussion: """
            A line for each session, and for each change: the state (or "ended"), the service, the account and the device, \
            with tabs between them. Ends when it is interrupted or nobody reads any more.

              tokenkeep fleet watch
            """.withWholeExamples)

    @Flag(help: "Write a JSON object in each line.")
    var json = false

    @OptionGroup
    var options: FleetOptions

    func run() throws {
        let fleet = try options.open()
        var known: [String: (session: FleetSession, words: [String])] = [:]
        var backoff = Backoff()
        let reader = OutputReader()
        while true {
            let listing = try fleet.listing()
            try show(listing, fleet, &known)
            let watch = try Fleet.reporting { () throws(RegistryFailure) in
                try fleet.registry.watch(prefixes: [fleet.paths.sessions], from: listing.revision)
            }
            if try FleetWatchCommand.wait(watch, reader) {
                backoff.reset()
            } else {
                // The pause before a new watch becomes longer as long as each watch ends at once.
                let pause = backoff.pause(random: UInt32.random(in: 0..<1000))
                _ = tokenkeep_wait_readable(reader.descriptor, -1, pause)
                try OutputReader.check()
            }
        }
    }

    /// Waits for a change for at most four minutes. The list that follows keeps the server's token valid, which would
    /// otherwise expire. Returns false if the watch has ended.
    ///
    /// - Throws: `OutputClosed` if the reader of standard output has closed the pipe.
    private static func wait(_ watch: any RegistryWatch, _ reader: OutputReader) throws(Terminal.OutputClosed) -> Bool {
        let end = Deadline(milliseconds: 240_000)
        while !end.hasPassed {
            switch watch.next(within: end.remainingMilliseconds, or: reader.descriptor, -1) {
            case .nothing: try OutputReader.check()
            case .changed: return true
            case .ended: return false
            }
        }
        return true
    }

    private func show(
        _ listing: FleetListing, _ fleet: Fleet, _ known: inout [String: (session: FleetSession, words: [String])]
    ) throws {
        var present: [String: (session: FleetSession, words: [String])] = [:]
        for session in listing.sessions {
            let device = listing.device(session.device)?.value.name ?? session.device
            let words = [session.value.state, session.value.service, session.value.account, device]
            let key = "\(session.accountID)/\(session.device)"
            present[key] = (session, words)
            if known[key]?.words != words { try write(session, words, fleet, listing) }
        }
        for (key, gone) in known where present[key] == nil {
            try write(gone.session, ["ended"] + gone.words.dropFirst(), fleet, listing)
        }
        known = present
    }

    private func write(_ session: FleetSession, _ words: [String], _ fleet: Fleet, _ listing: FleetListing) throws {
        if json {
            return try Terminal.write(
                JSONOutput.line(FleetJSON.Session(session, fleet, listing, state: words.first ?? session.value.state)))
        }
        try Terminal.write(words.map(Terminal.printable).joined(separator: "\t") + "\n")
    }
}
