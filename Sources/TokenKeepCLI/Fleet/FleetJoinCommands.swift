import ArgumentParser
import Glibc
import TokenKeepCore
import TokenKeepEngine
import TokenKeepFleet

/// `tokenkeep fleet init NAME`.
struct FleetInitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Begin a fleet with this device as the first.",
        discussion: """
            Makes the key of the fleet, and keeps it in the store of this device. With --user the password of etcd's user is \
            read from standard input; tokenkeep fleet admin init makes users later. A client certificate must have no \
            common name: etcd's gateway refuses every call with one.

              tokenkeep fleet init home --endpoint https://etcd.example.com:2379 --ca ca.pem
            """.withWholeExamples)

    @Argument(help: "The name of the fleet: lower-case letters, digits, hyphens.")
    var name: String

    @Option(
        name: .customLong("endpoint"),
        help: ArgumentHelp("An endpoint of etcd for clients; repeat it.", valueName: "url"))
    var endpoints: [String] = []

    @Option(
        help: ArgumentHelp("The authority of etcd's certificates, a PEM file.", valueName: "file"), completion: .file())
    var ca: String?

    @Option(help: ArgumentHelp("The user at etcd.", valueName: "name"))
    var user: String?

    @Option(help: ArgumentHelp("Seconds after which a silent device counts as away.", valueName: "seconds"))
    var presence: Int64 = FleetFile.usualPresence

    @Option(help: ArgumentHelp("The name of the person whose devices these are; that of the user.", valueName: "name"))
    var person: String?

    @OptionGroup
    var entry: FleetEntryOptions

    func run() throws {
        var file = try FleetFile(name: name)
        file.endpoints = endpoints
        file.caFile = ca.map(FleetEntryOptions.absolute)
        try entry.setCertificate(of: &file)
        file.user = user
        guard (FleetFile.shortestPresence...FleetFile.longestPresence).contains(presence) else {
            throw TokenKeepError(.invalid, "--presence is outside 30 to 2592000 seconds")
        }
        file.presence = presence
        _ = try EtcdSettings(endpoints: endpoints)
        _ = try FleetFiles.authority(file.caFile)
        let password = user == nil ? nil : try PasswordInput.lines(1)[0]
        let person = person ?? ThisMachine.user
        let fleetKey = try FleetKey()
        let secrets = FleetSecrets(
            person: person, userID: fleetKey.userID(person), userKey: try fleetKey.user(person), fleetKey: fleetKey,
            password: password)
        let fleet = try FleetEntry.enter(
            &file, secrets, entry.storeOptions.open(), name: entry.deviceName, authority: nil)
        FleetWarnings.check(version: try Fleet.reporting { () throws(RegistryFailure) in try fleet.registry.version() })
    }
}

/// The options of the commands that enter this device into a fleet.
struct FleetEntryOptions: ParsableArguments {
    @Option(
        name: .customLong("name"),
        help: ArgumentHelp("The name of this device; that of the machine.", valueName: "name"))
    var deviceName: String?

    @Option(help: ArgumentHelp("This device's certificate, a PEM file.", valueName: "file"), completion: .file())
    var cert: String?

    @Option(help: ArgumentHelp("The key of the certificate.", valueName: "file"), completion: .file())
    var key: String?

    @OptionGroup(title: "Store options")
    var storeOptions: StoreOptions

    /// Sets the paths of the certificate and of the key in the fleet's file.
    ///
    /// - Throws: ``Status/invalid`` if etcd's gateway would refuse the certificate.
    func setCertificate(of file: inout FleetFile) throws(TokenKeepError) {
        file.certificateFile = cert.map(FleetEntryOptions.absolute)
        file.keyFile = key.map(FleetEntryOptions.absolute)
        try ClientCertificate.check(file.certificateFile)
    }

    static func absolute(_ path: String) -> String {
        guard !path.hasPrefix("/"), let directory = getcwd(nil, 0) else { return path }
        defer { free(directory) }
        return "\(String(cString: directory))/\(path)"
    }
}

/// Enters this device into a fleet.
enum FleetEntry {
    /// Saves the keys, adds the device to the registry, and completes the fleet's file last. Therefore, a device with
    /// the complete file and the keys is in the fleet.
    ///
    /// After a failure, only files and entries are left that were there before, or that a repeated call can use.
    static func enter(
        _ file: inout FleetFile, _ secrets: FleetSecrets, _ store: Store, name: String?, authority: String?
    ) throws(TokenKeepError) -> Fleet {
        let present = try FleetSecrets.find(file.name, in: store)
        try check(present, secrets, file)
        let wasWritten = file.isWritten
        try file.write(authority: authority)
        do throws(TokenKeepError) {
            var secrets = secrets
            if let present {
                // The keys are left from a join that was interrupted. Keep the device's id, because the registry may
                // already contain this device.
                secrets.device = present.device
                secrets.fleetKey = present.fleetKey
            }
            try secrets.save(file.name, in: store)
            let registry = try EtcdRegistry(Fleet.settings(file, secrets))
            let fleet = try Fleet(file, secrets, store, registry)
            try fleet.enter(name: name ?? ThisMachine.name, system: ThisMachine.system)
            try file.write()
            return fleet
        } catch {
            if present == nil { _ = try? store.clear(service: FleetSecrets.service, account: file.name) }
            if !wasWritten { file.remove() }
            throw error
        }
    }

    /// - Throws: ``Status/duplicate`` if this device is in the fleet already, or has the keys of another fleet with the
    ///   same name.
    private static func check(
        _ present: FleetSecrets?, _ new: FleetSecrets, _ file: FleetFile
    ) throws(TokenKeepError) {
        guard let present else { return }
        guard !FleetFile.names.contains(file.name) else {
            throw TokenKeepError(
                .duplicate, "this device is in the fleet \(file.name) already",
                hint: "leave it first: tokenkeep fleet leave")
        }
        guard present.userID == new.userID, present.userKey.bytes == new.userKey.bytes else {
            throw TokenKeepError(
                .duplicate, "the store has keys of a fleet \(file.name), perhaps the only ones",
                hint: "choose another name, or forget them: tokenkeep fleet leave --local --fleet \(file.name)")
        }
    }
}

/// `tokenkeep fleet invite`.
struct FleetInviteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "invite",
        abstract: "Write a join code for another device of yours.",
        discussion: """
            The code, one line on standard output, has the registry's address, the password and your key, sealed by eight \
            words. The words are alone in a line of standard error: send them by another way than the code.

              tokenkeep fleet invite
              tokenkeep fleet invite --expires 10m > code
            """.withWholeExamples)

    @Option(help: ArgumentHelp("How long the code is valid.", valueName: "duration"))
    var expires = "1h"

    @OptionGroup
    var options: FleetOptions

    func run() throws {
        let fleet = try options.open()
        let authority = try FleetFiles.authority(fleet.file.caFile)
        let endsAt = try FleetInviteCommand.end(expires)
        try FleetInviteCommand.write(fleet.invitation(authority: authority, endsAt: endsAt))
    }

    static func end(_ expires: String) throws(TokenKeepError) -> Int64 {
        UnixTime.now.rawValue + (try Durations.milliseconds(expires, of: "--expires") / 1000)
    }

    /// Writes the join code to standard output, and then its words to standard error.
    static func write(_ invitation: Invitation) throws {
        let call = CallContext(deadline: Deadline(milliseconds: 60_000))
        let (code, words) = try JoinCode.make(invitation, call)
        try Terminal.write(code + "\n")
        words.withUnsafeBytes { _ = Terminal.writeAll($0, to: STDERR_FILENO) }
        Terminal.writeError("\n")
    }
}

/// `tokenkeep fleet join`.
struct FleetJoinCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "join",
        abstract: "Join a fleet with a code of another device.",
        discussion: """
            The code is read from standard input; its words from the terminal, or from a second line. A device that is in \
            the fleet already takes the password and the addresses of the code.

              tokenkeep fleet join < code
            """.withWholeExamples)

    @OptionGroup
    var entry: FleetEntryOptions

    func run() throws {
        let (code, words) = try read()
        let call = CallContext(deadline: Deadline(milliseconds: 60_000))
        let invitation = try JoinCode.open(code, words: words, now: UnixTime.now.rawValue, call)
        var file = try FleetFile(name: invitation.fleet)
        file.endpoints = invitation.endpoints
        file.user = invitation.user
        file.presence = invitation.presence
        try entry.setCertificate(of: &file)
        let store = try entry.storeOptions.open()
        if try renew(&file, invitation, store) { return }
        let secrets = FleetSecrets(
            person: invitation.person, userID: invitation.userID, userKey: try FleetKey(invitation.userKey),
            fleetKey: nil, password: invitation.password)
        let fleet = try FleetEntry.enter(
            &file, secrets, store, name: entry.deviceName, authority: invitation.authority)
        Terminal.explain("this device is in the fleet \(fleet.file.name); tokenkeep fleet run publishes its sessions")
    }

    /// Replaces the password, the addresses and the authority if this device already belongs to the same user in the
    /// fleet. The device keeps its id.
    ///
    /// - Returns: whether the device already belonged to the user.
    private func renew(
        _ file: inout FleetFile, _ invitation: Invitation, _ store: Store
    ) throws(TokenKeepError) -> Bool {
        guard FleetFile.names.contains(file.name) else { return false }
        // A file without keys, for example one in the system's directory, does not mean that this device has joined.
        guard var secrets = try FleetSecrets.find(file.name, in: store) else { return false }
        let present = try FleetFile.read(file.name)
        guard secrets.userID == invitation.userID, secrets.userKey.bytes == invitation.userKey else { return false }
        secrets.password = invitation.password
        file.certificateFile = file.certificateFile ?? present.certificateFile
        file.keyFile = file.keyFile ?? present.keyFile
        if invitation.authority == nil { file.caFile = present.caFile }
        try secrets.save(file.name, in: store)
        try file.write(authority: invitation.authority)
        try file.write()
        return true
    }

    private func read() throws(TokenKeepError) -> (code: String, words: SecretBytes) {
        let input = try SecretInput.readToEnd(of: STDIN_FILENO)
        let lines = try input.withUnsafeBytes { bytes throws(TokenKeepError) in
            var lines: [SecretBytes] = []
            for line in bytes.split(separator: UInt8(ascii: "\n")) where lines.count < 3 {
                lines.append(try SecretBytes(copying: UnsafeRawBufferPointer(rebasing: line)))
            }
            return lines
        }
        guard let first = lines.first, lines.count <= 2, let code = first.utf8String else {
            throw TokenKeepError(
                .invalid, "standard input has no join code", hint: "one line, and the words in a second line")
        }
        if lines.count == 2 { return (code, lines[1]) }
        return (code, try HiddenInput.ask("words of the join code: ", .password))
    }
}
