import CSystemdBus
import Glibc
import TokenKeepCore
import TokenKeepTerminal

/// `enable`, `disable` and `status`.
enum EnableCommands {
    /// Makes the message bus start this program for `org.freedesktop.secrets`.
    ///
    /// - Throws: ``Status/policy`` if another keyring is installed or running, unless `isReplacing`.
    static func enable(replacing isReplacing: Bool) throws(TokenKeepError) {
        let activation = try Activation()
        let others =
            activation.others.map { "the file \($0)" } + Units.others.map { "the unit \($0)" }
            + Units.autostart.map { "the autostart entry \($0)" } + owner()
        guard others.isEmpty || isReplacing else {
            throw TokenKeepError(
                .policy, "another keyring is here: \(others.joined(separator: ", "))",
                hint: "keep it, or give --replace")
        }
        if let foreign = Activation.text(of: activation.path), !Activation.isOurs(foreign) {
            throw TokenKeepError(
                .policy, "\(activation.path) is another keyring's", hint: "move the file away, then enable again")
        }
        try activation.write(replacing: !others.isEmpty)
        if let line = try PortalFiles()?.write() { print(line) }
        guard let bus = try? Bus() else {
            return print("enabled for the next session: there is no message bus now")
        }
        bus.reloadConfiguration()
        guard bus.list("ListActivatableNames")?.contains(Provider.name) == true else {
            throw TokenKeepError(
                .unavailable, "the message bus does not read \(activation.folder)",
                hint: "log in again, or start the program yourself: \(try Activation.program())")
        }
        print("enabled: the message bus starts the provider when a program asks for \(Provider.name)")
    }

    static func disable() throws(TokenKeepError) {
        let activation = try Activation()
        guard activation.isEnabled else { return print("it was not enabled") }
        // The activation file is removed last, so that a failed `disable` can be repeated.
        try PortalFiles()?.remove()
        try activation.remove()
        (try? Bus())?.reloadConfiguration()
        print("disabled: a provider that runs stays until the session ends")
    }

    /// Describes the program that owns the name; empty if the name has no owner or the provider owns it.
    private static func owner() -> [String] {
        guard let bus = try? Bus(), let process = bus.process(of: Provider.name),
            process != bus.process(of: Provider.ownName)
        else { return [] }
        return ["the program \(CallingProgram.name(of: process)) (pid \(process))"]
    }

    /// Prints which program owns the name. Exits with code 4 if the provider is neither enabled nor running.
    static func status(json: Bool) throws(TokenKeepError) {
        let activation = try Activation()
        let bus = try? Bus()
        let process = bus?.process(of: Provider.name)
        let isOurs = process != nil && process == bus?.process(of: Provider.ownName)
        let name = process.map(CallingProgram.name(of:))
        if json {
            let owner = name.map(quoted) ?? "null"
            print(
                "{\"enabled\":\(activation.isEnabled),\"serves\":\(isOurs),\"owner\":\(owner),"
                    + "\"pid\":\(process.map(String.init) ?? "null")}")
        } else {
            print(activation.isEnabled ? "enabled: \(activation.path)" : "not enabled")
            let owner = zip2(name, process).map { "\($0) (pid \($1))" }
            print(
                isOurs
                    ? "the provider serves: \(owner ?? "")"
                    : owner.map { "another program serves: \($0)" }
                        ?? (bus == nil ? "there is no message bus" : "no program serves \(Provider.name)"))
        }
        guard isOurs || activation.isEnabled else { exit(Status.unavailable.exitCode) }
    }

    /// Quotes a printable name as a JSON string.
    private static func quoted(_ name: String) -> String {
        let escaped = name.flatMap { $0 == "\"" || $0 == "\\" ? ["\\", $0] : [$0] }
        return "\"\(String(escaped))\""
    }

    private static func zip2<First, Second>(_ first: First?, _ second: Second?) -> (First, Second)? {
        guard let first, let second else { return nil }
        return (first, second)
    }
}
