import Foundation
import TestSupport
import TokenKeepCore

/// A Secret Service that misbehaves as it is told, on a bus of its own.
final class FakeService: Sendable {
    let bus: PrivateBus
    let client: ServiceClient
    private let process: ChildProcess

    /// Starts a service.
    ///
    /// - Parameters:
    ///   - behaviour: JSON, as the program describes it.
    ///   - bus: where it runs; nil for a bus of its own.
    init(_ behaviour: String = "{}", timeout: UInt32 = 5000, on bus: PrivateBus? = nil) throws {
        self.bus = try bus ?? PrivateBus()
        let program = #filePath.replacingOccurrences(of: "FakeService.swift", with: "Fakes/secret_service.py")
        let inherited = ProcessInfo.processInfo.environment.filter {
            ["PATH", "TOKENKEEP_TEST_CLOCK"].contains($0.key)
        }
        process = try ChildProcess(
            "/usr/bin/python3", [program, behaviour],
            environment: self.bus.environment.merging(inherited) { own, _ in own })
        guard try process.firstLine() == "ready" else { throw HarnessFailure(message: "the fake does not start") }
        client = try ServiceClient(self.bus, timeout: timeout)
    }

    /// Changes its behaviour.
    func configure(_ behaviour: String) throws { _ = try call("Configure", behaviour) }

    /// The calls it got since it was asked last.
    func calls() throws -> [String] { try call("Calls").split(separator: " ").map(String.init) }

    /// What it holds, as JSON.
    func items() throws -> String { try call("Items") }

    /// Whether it has calls that it does not answer, because it hangs.
    var holdsCalls: Bool { (try? call("Held")).map { $0 != "0" } ?? false }

    /// Whether it got this call since it was asked last for its calls.
    func hasGot(_ member: String) -> Bool { (try? calls().contains(member)) ?? false }

    /// Answers the calls that it did not answer.
    func release() throws { _ = try call("Release") }

    private func call(_ member: String, _ arguments: String...) throws -> String {
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

    /// An item as the fake describes it.
    static func item(
        _ path: String, _ attributes: [String: String], secret: String, modified: Int = 1, isLocked: Bool = false
    ) -> String {
        let pairs = attributes.sorted { $0.key < $1.key }.map { "\"\($0.key)\": \"\($0.value)\"" }
        return """
            "/org/freedesktop/secrets/collection/c/\(path)": {"attributes": {\(pairs.joined(separator: ", "))}, "label": "a label",
            "secret": "\(secret)", "modified": \(modified), "locked": \(isLocked)}
            """
    }

    /// The attributes of an item of ours.
    static func ours(
        _ service: String = "example.com", _ account: String = "ann", _ more: [String: String] = [:],
        namespace: String = ""
    ) -> [String: String] {
        [
            "xdg:schema": "org.tokenkeep.Item", namespace.isEmpty ? "service" : "tokenkeep:service": service,
            namespace.isEmpty ? "username" : "tokenkeep:account": account, "tokenkeep:namespace": namespace,
            "tokenkeep:access": "after-first-unlock",
        ].merging(more) { _, new in new }
    }
}
