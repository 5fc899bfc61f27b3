import ArgumentParser
import Glibc
import TokenKeepCore
import TokenKeepEngine
import TokenKeepFleet
import TokenKeepOAuth

/// `tokenkeep fleet …`.
struct FleetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleet",
        abstract: "See the sessions of all your devices, and sign out on any of them.",
        discussion: """
            The devices of a fleet share a registry in etcd. It holds no token, and nothing that etcd's operator could read: \
            each device publishes which sessions it has, sealed, and obeys orders to end them.

              tokenkeep fleet init home --endpoint https://etcd.example.com:2379 --ca ca.pem
              tokenkeep fleet invite            on a device of the fleet
              tokenkeep fleet join              on the next device
              systemctl --user enable --now tokenkeep-fleet
              tokenkeep fleet list
              tokenkeep fleet sign-out github.com ann --device laptop --wait 30s
            """.withWholeExamples,
        subcommands: [
            FleetInitCommand.self, FleetInviteCommand.self, FleetJoinCommand.self, FleetListCommand.self,
            FleetSignOutCommand.self, FleetRunCommand.self, FleetWatchCommand.self, FleetStatusCommand.self,
            FleetRenameCommand.self, FleetLeaveCommand.self, FleetAdminCommand.self,
        ])

    func run() throws {
        throw UsageError.missingCommand(of: "fleet")
    }
}

/// The options of commands for a fleet that contains this device.
struct FleetOptions: ParsableArguments {
    @Option(
        name: .customLong("fleet"),
        help: ArgumentHelp("The fleet, if this device is in more than one.", valueName: "name"),
        completion: FleetCompletion.fleets)
    var fleet: String?

    @OptionGroup(title: "Store options")
    var storeOptions: StoreOptions

    func open() throws(TokenKeepError) -> Fleet { try Fleet(fleet, storeOptions.open()) }
}

/// Describes this machine for the other devices of a fleet.
enum ThisMachine {
    /// The machine's name without its domain, at most 64 characters long.
    static var name: String {
        var machine = utsname()
        guard uname(&machine) == 0 else { return "device" }
        let name = withUnsafeBytes(of: &machine.nodename) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        let short = String(name.prefix { $0 != "." }.prefix(64))
        return short.isEmpty ? "device" : short
    }

    /// The operating system, for example `Linux 6.1.0 x86_64`.
    static var system: String {
        var machine = utsname()
        guard uname(&machine) == 0 else { return "" }
        func text<Field>(_ field: Field) -> String {
            withUnsafeBytes(of: field) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        }
        return "\(text(machine.sysname)) \(text(machine.release)) \(text(machine.machine))"
    }

    /// The name of the user in the passwd database.
    static var user: String { getpwuid(geteuid()).map { String(cString: $0.pointee.pw_name) } ?? "user" }
}

/// The warnings of the commands `fleet …`.
enum FleetWarnings {
    /// Warns if this version of etcd has known security holes.
    static func check(version: String) {
        guard ServerVersions.hasHoles(version) else { return }
        Terminal.warn(
            TokenKeepError(
                .unavailable, "etcd \(version) has known holes: any user of the registry may delete or delay orders",
                hint: "3.5.33, 3.6.14, 3.7.1 and later have not; see docs/fleet.md"))
    }
}
