import TokenKeepCore

/// Sees the calls that a bus passes on to programs.
public final class BusMonitor: Sendable {
    private let process: ChildProcess
    private let members: MutexGuarded<[String]>
    private let reader: TestThread

    /// Begins with the next message.
    public init(_ bus: PrivateBus) throws {
        let process = try ChildProcess(
            "/usr/bin/dbus-monitor", ["--profile", "--address", bus.address, "type='method_call'"],
            environment: bus.environment)
        // The bus takes away a monitor's name, and from then on shows it all messages.
        var line = ""
        while !line.hasSuffix("NameLost") {
            line = try process.firstLine()
            guard !line.isEmpty else { throw HarnessFailure(message: "dbus-monitor does not start") }
        }
        let members = MutexGuarded<[String]>([])
        reader = TestThread {
            while let line = try? process.firstLine(), !line.isEmpty {
                let words = line.split(separator: "\t")
                guard words.count == 8, words[4] != "org.freedesktop.DBus" else { continue }
                members.withLock { $0.append(String(words[7])) }
            }
        }
        self.process = process
        self.members = members
    }

    deinit {
        process.kill()
        reader.join()
    }

    /// Whether the bus has passed a call on.
    public var hasPassedCalls: Bool { members.withLock { !$0.isEmpty } }

    /// Whether the bus has passed this call on.
    public func hasPassed(_ member: String) -> Bool { members.withLock { $0.contains(member) } }
}
