import Glibc
import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys
import TokenKeepSecretService

/// Checks the session bus, the Secret Service on the bus, and the service's default collection.
struct BusChecks {
    /// The time limit, in milliseconds, for all queries to the bus and the service together.
    private static let limit: UInt32 = 4_000
    /// The hint to run a command with a message bus of its own, which needs no session bus.
    private static let ownBus = "tokenkeep secret-service run -- COMMAND"

    func findings() -> [Finding] {
        do throws(TokenKeepError) {
            let address = try ServiceInspection.address()
            do throws(TokenKeepError) {
                let service = try ServiceInspection(
                    of: address, until: Deadline(milliseconds: BusChecks.limit))
                return [.ok("bus", "\(address)\(BusChecks.origin)")] + findings(about: service)
            } catch {
                return [unreachable(address, error)]
            }
        } catch {
            return [withoutBus(error)]
        }
    }

    /// The reason why this bus was chosen, in words that a message appends to the bus's address.
    private static var origin: String {
        if ToolPlaces.variable("DBUS_SESSION_BUS_ADDRESS") != nil { return ", which DBUS_SESSION_BUS_ADDRESS names" }
        if ToolPlaces.variable("XDG_RUNTIME_DIR") != nil { return ", in XDG_RUNTIME_DIR" }
        return ", the one of this user's login"
    }

    // MARK: The bus

    private func withoutBus(_ error: TokenKeepError) -> Finding {
        guard wasUsed else {
            return .note(
                "bus", error.message, because: "Items go to the vault. Programs that ask for a keyring find none.",
                hint: BusChecks.ownBus)
        }
        return .problem(
            "bus", error.message,
            because:
                "The keyring, which has items of this machine, cannot be reached from here; what is saved waits in the "
                + "vault.", hint: otherBus.map { "export DBUS_SESSION_BUS_ADDRESS=\($0)" } ?? BusChecks.ownBus)
    }

    private func unreachable(_ address: String, _ error: TokenKeepError) -> Finding {
        let hint = otherBus.map { "export DBUS_SESSION_BUS_ADDRESS=\($0)" } ?? "unset DBUS_SESSION_BUS_ADDRESS"
        guard error.isAbsence else {
            return .problem(
                "bus", "\(error.message): \(address)\(BusChecks.origin)",
                because: "Each program that asks the bus waits for its whole limit, or gives up.",
                hint: error.hint ?? hint)
        }
        return .problem(
            "bus", "nothing listens at \(address)\(BusChecks.origin)",
            because:
                "The address is stale: its session has ended, as in an old tmux or screen. Programs find no keyring.",
            hint: hint)
    }

    /// The address of the bus of the user's login; nil if its socket does not exist, or if DBUS_SESSION_BUS_ADDRESS has
    /// this address already.
    private var otherBus: String? {
        let path = "/run/user/\(getuid())/bus"
        let address = "unix:path=\(path)"
        guard ToolPlaces.exists(path), ToolPlaces.variable("DBUS_SESSION_BUS_ADDRESS") != address else { return nil }
        return address
    }

    /// Whether this vault has used the keyring on this machine.
    private var wasUsed: Bool {
        guard let store = try? Store(StoreConfiguration()) else { return false }
        return (try? store.records.journal.hasUsed("secret-service")) == true
    }

    // MARK: The service

    private func findings(about service: ServiceInspection) -> [Finding] {
        guard let owner = service.owner else { return [withoutOwner(service)] }
        let name = BusChecks.words(for: owner.process)
        var findings: [Finding] = []
        if let silence = owner.silence {
            let isSilent = silence.status == .timedOut
            findings.append(
                .problem(
                    "secret-service", "\(name) \(isSilent ? "does not answer" : "fails: \(silence.message)")",
                    because:
                        "Each program that asks the keyring waits for its limit. TokenKeep saves to the vault meanwhile.",
                    hint: isSilent ? owner.process.map { "kill \($0)" } ?? "tokenkeep status" : "tokenkeep status"))
        } else {
            findings.append(.ok("secret-service", name + ours(owner)))
        }
        if !service.waiting.isEmpty {
            let others = service.waiting.map { BusChecks.words(for: $0) }.joined(separator: ", ")
            findings.append(
                .problem(
                    "secret-service", "a second program waits for the name: \(others)",
                    because: "When the first one ends, programs find another keyring, without the items of the first.",
                    hint: "kill \(service.waiting[0])"))
        }
        if owner.silence == nil { findings.append(collection(owner)) }
        return findings
    }

    private func withoutOwner(_ service: ServiceInspection) -> Finding {
        if let file = ActivationFile.first() {
            let program = file.program.map { ": \($0)" } ?? ""
            guard service.isActivatable else {
                return .problem(
                    "secret-service", "no program runs, and the bus does not read \(file.path)",
                    because: "The file is newer than the bus, or its folder is. Programs find no keyring.",
                    hint: "busctl --user call org.freedesktop.DBus / org.freedesktop.DBus ReloadConfig")
            }
            return .ok("secret-service", "not running; the bus starts it by \(file.path)\(program)")
        }
        guard wasUsed else {
            return .note(
                "secret-service", "no program owns org.freedesktop.secrets, and none can be started",
                because: "Items go to the vault. Programs that ask for a keyring find none.",
                hint: "tokenkeep secret-service enable")
        }
        return .problem(
            "secret-service", "no program owns org.freedesktop.secrets, and none can be started",
            because: "The keyring has items of this machine; what is saved now waits in the vault.",
            hint: "gnome-keyring-daemon --start --components=secrets")
    }

    private func ours(_ owner: ServiceInspection.Owner) -> String {
        guard let vault = owner.vaultID else { return "" }
        let records = try? Store(StoreConfiguration()).records
        let own = records.flatMap { (try? $0.opener.vaultID()) ?? nil }.map(Hexadecimal.text)
        return vault == own ? ", serves this vault" : ", serves another vault"
    }

    private func collection(_ owner: ServiceInspection.Owner) -> Finding {
        let name = "default-collection"
        switch owner.collection {
        case .open: return .ok(name, "open")
        case .locked:
            return .problem(
                name, "locked",
                because: "Loads and saves of its items fail, or ask. Some programs take it for signed out.",
                hint: BusChecks.unlock(owner))
        case .missing:
            return .problem(
                name, "there is none", because: "New items cannot be saved in the keyring: most programs fail at it.",
                hint: "tokenkeep save SERVICE ACCOUNT --interactive")
        case .unknown:
            return .note(
                name, "the service does not tell its state", because: "A locked keyring looks like an empty one.",
                hint: "tokenkeep search")
        }
    }

    /// The command that unlocks the default collection.
    private static func unlock(_ owner: ServiceInspection.Owner) -> String {
        if owner.isProvider { return "tokenkeep unlock" }
        let name = owner.process.flatMap(program) ?? ""
        // gnome-keyring has capabilities, so the kernel shows its user neither its path nor more than this of its name.
        let takesPassword = name.hasPrefix("gnome-keyring-d") || name == "oo7-daemon"
        return takesPassword ? "tokenkeep unlock --keyring" : "tokenkeep load SERVICE ACCOUNT --interactive"
    }

    /// Describes a process by its program, its number and the unit that started it.
    private static func words(for process: UInt32?) -> String {
        guard let process else { return "a program that the bus does not name" }
        let name = program(of: process)
        let unit = SmallFile.text("/proc/\(process)/cgroup")?.split(separator: "\n" as Character).last?
            .split(separator: "/" as Character).last.map(String.init)
        let by = unit?.hasSuffix(".service") == true && unit?.hasPrefix("user@") == false ? ", by \(unit ?? "")" : ""
        return "\(name ?? "a program") (pid \(process)\(by))"
    }

    /// The maximum length of a process's name in the kernel, in bytes (PR_SET_NAME(2const)).
    private static let longestName = 15

    private static func program(of process: UInt32) -> String? {
        let name = SmallFile.text("/proc/\(process)/comm")?.split(separator: "\n" as Character).first.map(String.init)
        // The kernel cuts longer names. A program that was started through a descriptor has the name exe.
        guard let name, name == "exe" || name.utf8.count == longestName else { return name }
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        let length = readlink("/proc/\(process)/exe", &path, path.count)
        guard length > 0 else { return name }
        let file = String(decoding: path[..<length].map(UInt8.init(bitPattern:)), as: UTF8.self)
            .split(separator: "/" as Character).last.map(String.init)
        // Use the name of the executable only if it continues the cut name. For a script, the executable is the
        // interpreter, and the path of a replaced executable ends in ` (deleted)`.
        let isWhole = file?.hasPrefix(name) == true && file?.hasSuffix(" (deleted)") == false
        return name == "exe" || isWhole ? file : name
    }
}

/// A service file that tells the message bus how to start a Secret Service.
struct ActivationFile {
    private static let name = "org.freedesktop.secrets.service"

    let path: String
    /// The unit in the line `SystemdService=` or, without that line, the command in `Exec=`; nil if there is neither.
    let program: String?

    /// Reads the file that the bus uses, which is the first one in the bus's order of directories; nil if there is
    /// none.
    static func first() -> ActivationFile? {
        let home = (try? ToolPlaces.home()).map { "\($0)/.local/share" }
        let own = [ToolPlaces.variable("XDG_RUNTIME_DIR"), ToolPlaces.variable("XDG_DATA_HOME") ?? home]
        let system = ToolPlaces.variable("XDG_DATA_DIRS") ?? "/usr/local/share:/usr/share"
        let folders = own.compactMap(\.self) + system.split(separator: ":" as Character).map(String.init)
        for folder in folders {
            let path = "\(folder)/dbus-1/services/\(name)"
            guard let text = SmallFile.text(path) else { continue }
            let lines = text.split(separator: "\n" as Character)
            let line = ["SystemdService=", "Exec="].lazy.compactMap { key in
                lines.first { $0.hasPrefix(key) }.map { String($0.dropFirst(key.utf8.count)) }
            }.first
            return ActivationFile(path: path, program: line)
        }
        return nil
    }
}
