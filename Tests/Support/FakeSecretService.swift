import Foundation

/// A Secret Service that misbehaves as it is told: `Tests/TokenKeepSecretService/Fakes/secret_service.py`, on a bus.
public final class FakeSecretService: Sendable {
    /// Where it runs.
    public let bus: PrivateBus
    private let process: ChildProcess

    /// Starts a service.
    ///
    /// - Parameters:
    ///   - behaviour: JSON, as the program describes it.
    ///   - bus: where it runs; nil for a bus of its own.
    public init(_ behaviour: String = "{}", on bus: PrivateBus? = nil) throws {
        self.bus = try bus ?? PrivateBus()
        let program = #filePath.replacingOccurrences(
            of: "Support/FakeSecretService.swift", with: "TokenKeepSecretService/Fakes/secret_service.py")
        let inherited = ProcessInfo.processInfo.environment.filter {
            ["PATH", "TOKENKEEP_TEST_CLOCK"].contains($0.key)
        }
        process = try ChildProcess(
            "/usr/bin/python3", [program, behaviour],
            environment: self.bus.environment.merging(inherited) { own, _ in own })
        guard try process.firstLine() == "ready" else { throw HarnessFailure(message: "the fake does not start") }
    }

    /// Changes its behaviour.
    public func configure(_ behaviour: String) throws { _ = try call("Configure", behaviour) }

    /// What it holds, as JSON.
    public func items() throws -> String { try call("Items") }

    /// Calls a method of the fake's own. Returns what the fake prints.
    public func call(_ member: String, _ arguments: String...) throws -> String {
        let program = """
            import sys, dbus
            bus = dbus.SessionBus()
            print(bus.call_blocking("org.freedesktop.secrets", "/fake", "org.tokenkeep.Fake", sys.argv[1],
                "s" * len(sys.argv[2:]), sys.argv[2:]), end="")
            """
        let outcome = try ChildProcess.run(
            "/usr/bin/python3", ["-c", program, member] + arguments, environment: bus.environment)
        guard outcome.status == 0 else { throw HarnessFailure(message: "the fake does not listen") }
        return outcome.output
    }
}
