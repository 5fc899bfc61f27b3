import TestSupport
import TokenKeepCore

/// A Secret Service that misbehaves as it is told, on a bus of its own.
final class FakeService: Sendable {
    let client: ServiceClient
    private let fake: FakeSecretService

    /// Starts a service.
    ///
    /// - Parameters:
    ///   - behaviour: JSON, as the program describes it.
    ///   - bus: where it runs; nil for a bus of its own.
    init(_ behaviour: String = "{}", timeout: UInt32 = 5000, on bus: PrivateBus? = nil) throws {
        fake = try FakeSecretService(behaviour, on: bus)
        client = try ServiceClient(fake.bus, timeout: timeout)
    }

    var bus: PrivateBus { fake.bus }

    /// Changes its behaviour.
    func configure(_ behaviour: String) throws { try fake.configure(behaviour) }

    /// The calls it got since it was asked last.
    func calls() throws -> [String] { try fake.call("Calls").split(separator: " ").map(String.init) }

    /// What it holds, as JSON.
    func items() throws -> String { try fake.items() }

    /// Whether it has calls that it does not answer, because it hangs.
    var holdsCalls: Bool { (try? fake.call("Held")).map { $0 != "0" } ?? false }

    /// Whether it got this call since it was asked last for its calls.
    func hasGot(_ member: String) -> Bool { (try? calls().contains(member)) ?? false }

    /// Answers the calls that it did not answer.
    func release() throws { _ = try fake.call("Release") }

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
