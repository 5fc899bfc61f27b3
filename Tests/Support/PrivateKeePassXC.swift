import Foundation

/// A real KeePassXC without a window, on a bus of its own, with a database whose root group it offers.
public final class PrivateKeePassXC: @unchecked Sendable {
    /// Where the program must be.
    public static let program = "/usr/bin/keepassxc"
    /// Whether it is there.
    public static let isInstalled = FileManager.default.isExecutableFile(atPath: program)

    /// Its bus.
    public let bus: PrivateBus
    private var process: ChildProcess
    private static let password = "database password"

    /// Starts it with a new, empty database.
    ///
    /// - Parameters:
    ///   - unlocked: whether the database is open.
    ///   - confirms: whether the user is asked before a program may read or delete, as in a fresh installation.
    public init(unlocked: Bool = true, confirms: Bool = false) throws {
        bus = try PrivateBus()
        bus.directory.write(
            Array(PrivateKeePassXC.configuration(confirms: confirms).utf8), to: "config/keepassxc/keepassxc.ini")
        try PrivateKeePassXC.makeDatabase(on: bus)
        process = try PrivateKeePassXC.start(on: bus, unlocked: unlocked)
        try waitUntil(locked: !unlocked)
    }

    /// The file is written when the database is locked: KeePassXC 2.7.4 at times crashes in the thread that writes it
    /// while items change.
    private static func configuration(confirms: Bool) -> String {
        """
        [General]
        ConfigVersion=2
        UpdateCheckMessageShown=true
        SingleInstance=false
        AutoSaveAfterEveryChange=false
        AutoSaveOnExit=true

        [GUI]
        CheckForUpdates=false

        [FdoSecrets]
        Enabled=true
        ShowNotification=false
        ConfirmAccessItem=\(confirms)
        ConfirmDeleteItem=\(confirms)
        UnlockBeforeSearch=false
        """
    }

    /// Which group is offered stands in the database itself.
    private static func makeDatabase(on bus: PrivateBus) throws {
        let content = """
            <?xml version="1.0" encoding="UTF-8"?>
            <KeePassFile>
              <Meta>
                <DatabaseName>Passwords</DatabaseName>
                <CustomData>
                  <Item>
                    <Key>FDO_SECRETS_EXPOSED_GROUP</Key>
                    <Value>{00112233-4455-6677-8899-aabbccddeeff}</Value>
                  </Item>
                </CustomData>
              </Meta>
              <Root><Group><UUID>ABEiM0RVZneImaq7zN3u/w==</UUID><Name>Root</Name></Group></Root>
            </KeePassFile>
            """
        bus.directory.write(Array(content.utf8), to: "database.xml")
        let outcome = try ChildProcess.run(
            program + "-cli",
            ["import", "--quiet", "--set-password", "--decryption-time", "100", "database.xml", "passwords.kdbx"].map {
                $0.hasPrefix("database.") || $0.hasSuffix(".kdbx") ? "\(bus.directory.path)/\($0)" : $0
            }, environment: environment(on: bus), input: "\(password)\n\(password)\n")
        guard outcome.status == 0 else { throw HarnessFailure(message: "keepassxc-cli makes no database") }
    }

    private static func environment(on bus: PrivateBus) -> [String: String] {
        bus.environment.merging(["QT_QPA_PLATFORM": "offscreen"]) { _, new in new }
    }

    private static func start(on bus: PrivateBus, unlocked: Bool) throws -> ChildProcess {
        try ChildProcess(
            program, (unlocked ? ["--pw-stdin"] : []) + ["\(bus.directory.path)/passwords.kdbx"],
            environment: environment(on: bus), input: unlocked ? password + "\n" : "")
    }

    /// Locks the database, as the user does.
    public func lock() throws {
        try window("lockAllDatabases")
        try waitUntil(locked: true)
    }

    /// Opens the database, as the user does.
    public func unlock() throws {
        try window("openDatabase", "\(bus.directory.path)/passwords.kdbx", PrivateKeePassXC.password)
        try waitUntil(locked: false)
    }

    /// Locks the database, which writes it to its file, and opens it in another process.
    public func restart() throws {
        try lock()
        process.kill()
        process = try PrivateKeePassXC.start(on: bus, unlocked: true)
        try waitUntil(locked: false)
    }

    /// Everything that its file holds, as XML in clear text. The database is open again afterwards.
    public func content() throws -> String {
        try lock()
        let outcome = try ChildProcess.run(
            PrivateKeePassXC.program + "-cli", ["export", "--quiet", "\(bus.directory.path)/passwords.kdbx"],
            environment: PrivateKeePassXC.environment(on: bus), input: PrivateKeePassXC.password + "\n")
        guard outcome.status == 0 else { throw HarnessFailure(message: "keepassxc-cli exports nothing") }
        try unlock()
        return outcome.output
    }

    private func window(_ method: String, _ arguments: String...) throws {
        let outcome = try ChildProcess.run(
            "/usr/bin/gdbus",
            [
                "call", "--session", "--dest", "org.keepassxc.KeePassXC.MainWindow", "--object-path", "/keepassxc",
                "--method", "org.keepassxc.KeePassXC.MainWindow.\(method)",
            ] + arguments, environment: bus.environment)
        guard outcome.status == 0 else { throw HarnessFailure(message: "KeePassXC does not \(method)") }
    }

    /// Waits until the default collection is there and in this state: the service has its name before that.
    private func waitUntil(locked: Bool) throws {
        try bus.waitForService()
        let isThere = try Patience.wait {
            let outcome = try ChildProcess.run(
                "/usr/bin/gdbus",
                [
                    "call", "--session", "--dest", "org.freedesktop.secrets", "--object-path",
                    "/org/freedesktop/secrets/aliases/default", "--method", "org.freedesktop.DBus.Properties.Get",
                    "org.freedesktop.Secret.Collection", "Locked",
                ], environment: bus.environment)
            return outcome.output.contains("<\(locked)>")
        }
        guard !isThere else { return }
        throw HarnessFailure(message: "KeePassXC does not \(locked ? "lock" : "open") its database")
    }
}
