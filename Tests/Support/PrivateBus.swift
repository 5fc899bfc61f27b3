import Foundation

/// A message bus of a test's own, on which nothing can be started but by the test.
public final class PrivateBus: @unchecked Sendable {
    /// Where the bus, and whatever runs on it, keeps its files.
    public let directory = TemporaryDirectory()
    /// The address of the bus.
    public let address: String
    /// The bus itself.
    public private(set) var daemon: ChildProcess
    private let user: UInt32?

    /// Starts a bus.
    ///
    /// - Parameters:
    ///   - user: whose it is; nil for this process's user. Only root may name another.
    ///   - listen: where it listens; nil for a unix socket in ``directory``.
    public init(user: UInt32? = nil, listen: String? = nil) throws {
        self.user = user
        let socket = "unix:path=\(directory.path)/bus"
        let configuration = """
            <busconfig>
              <type>session</type>
              <listen>\(listen ?? socket)</listen>
              <auth>EXTERNAL</auth>
              <auth>ANONYMOUS</auth>
              \(listen == nil ? "" : "<allow_anonymous/>")
              <policy context="default">
                <allow user="*"/>
                <allow send_destination="*" eavesdrop="true"/>
                <allow eavesdrop="true"/>
                <allow own="*"/>
              </policy>
              <limit name="max_replies_per_connection">100000</limit>
            </busconfig>
            """
        directory.write(Array(configuration.utf8), to: "bus.conf", mode: 0o644)
        if user != nil { chmod(directory.path, 0o777) }
        let printed: String
        (daemon, printed) = try PrivateBus.start(in: directory.path, as: user)
        // Without the identifier that each bus makes for itself: another one may come at the same place.
        address = listen == nil ? socket : printed
    }

    private static func start(
        in directory: String, as user: UInt32?
    ) throws -> (daemon: ChildProcess, address: String) {
        let arguments = ["--config-file=\(directory)/bus.conf", "--nofork", "--print-address=1"]
        let daemon = try ChildProcess(
            "/usr/bin/dbus-daemon", arguments, environment: ["HOME": directory], user: user)
        return (daemon, try daemon.firstLine())  // it listens now
    }

    /// Ends the bus, and whoever needs it, and starts another at the same address.
    public func restart() throws {
        daemon.kill()
        daemon = try PrivateBus.start(in: directory.path, as: user).daemon
    }

    /// The environment of a program on this bus.
    public var environment: [String: String] {
        [
            "HOME": directory.path, "XDG_DATA_HOME": directory.path + "/data",
            "XDG_CACHE_HOME": directory.path + "/cache",
            "XDG_CONFIG_HOME": directory.path + "/config", "XDG_RUNTIME_DIR": directory.path,
            "DBUS_SESSION_BUS_ADDRESS": address,
        ]
    }

    /// Waits until somebody owns the service's name.
    public func waitForService() throws {
        let outcome = try ChildProcess.run(
            "/usr/bin/gdbus",
            ["wait", "--session", "--timeout", "\(Patience.seconds)", "org.freedesktop.secrets"],
            environment: environment)
        guard outcome.status == 0 else { throw HarnessFailure(message: "nobody owns org.freedesktop.secrets") }
    }

    /// Runs `secret-tool` on this bus.
    public func secretTool(_ arguments: String..., input: String = "") throws -> (output: String, status: Int32) {
        try ChildProcess.run("/usr/bin/secret-tool", arguments, environment: environment, input: input)
    }

    /// Runs a Python program on this bus.
    public func python(_ program: String, _ arguments: String...) throws -> (output: String, status: Int32) {
        try ChildProcess.run("/usr/bin/python3", ["-c", program] + arguments, environment: environment)
    }
}

/// Why a test's surroundings could not be made.
public struct HarnessFailure: Error {
    /// What happened.
    public let message: String

    /// A failure in words.
    public init(message: String) { self.message = message }
}
