import Foundation
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepEngine
import TokenKeepSession

/// A Secret Service that answers late, while a session's change is pending for it and another program has a newer token there.
///
/// The service sets the clock forward by the time that its answers take. The session's store is connected.
@Suite struct LateServiceMovedClockTests {
    private static let program = #filePath.replacing(
        "TokenKeepSession/LateServiceMovedClockTests.swift", with: "TokenKeepSecretService/Fakes/secret_service.py")
    private let bus: PrivateBus
    private let service: ChildProcess
    private let directory = TemporaryDirectory(inMemory: true)

    init() throws {
        bus = try PrivateBus()
        let inherited = ProcessInfo.processInfo.environment.filter {
            ["PATH", "TOKENKEEP_TEST_CLOCK"].contains($0.key)
        }
        service = try ChildProcess(
            "/usr/bin/python3", [LateServiceMovedClockTests.program, "{}"],
            environment: bus.environment.merging(inherited) { own, _ in own })
        guard try service.firstLine() == "ready" else { throw HarnessFailure(message: "the service does not start") }
    }

    /// A handle as another process would have it.
    private func session(timeout: String = "5s", isConnected: Bool = true) throws -> SessionEngine {
        var configuration = StoreConfiguration(
            stackText: "any sufficient secret-service timeout=\(timeout)\nany required vault")
        configuration.vaultPath = directory.path + "/vault"
        configuration.stackDirectories = .none
        configuration.busAddress = isConnected ? bus.address : "unix:path=/nonexistent/bus"
        if timeout != "5s" { configuration.timeoutMilliseconds = Patience.milliseconds }
        return try SessionEngine(
            Store(configuration), service: "example.com", account: "ann",
            SessionOptions(transport: nil, timeoutMilliseconds: Patience.milliseconds))
    }

    /// Another program saves a token a moment after the change that is pending; from now on the service is late.
    private func anotherProgramSaves(latency: Int) throws {
        let item: [String: Any] = [
            "attributes": [
                "xdg:schema": "org.tokenkeep.Item", "service": "example.com", "username": "ann",
                "tokenkeep:namespace": "", "tokenkeep:access": "after-first-unlock",
            ],
            "label": "example.com (ann)", "secret": #"{"accessToken":"theirs","expiresAt":9999999999}"#,
            "modified": Int(Date().timeIntervalSince1970) + 2,
        ]
        let items = ["/org/freedesktop/secrets/collection/c/1": item]
        let behaviour: [String: Any] = ["latency": latency, "items": items]
        let text = String(decoding: try JSONSerialization.data(withJSONObject: behaviour), as: UTF8.self)
        let told = try ChildProcess.run(
            "/usr/bin/gdbus",
            [
                "call", "--session", "-d", "org.freedesktop.secrets", "-o", "/fake", "-m",
                "org.tokenkeep.Fake.Configure", text,
            ], environment: bus.environment)
        #expect(told.status == 0)
    }

    private func begin(_ token: String, _ session: SessionEngine) throws {
        try session.begin(.user, response: SecretBytes(#"{"access_token":"\#(token)","expires_in":3600}"#))
    }

    /// Two answers of 3 s have no place in the module's usual 5 s.
    @Test(arguments: [(0, "5s"), (100, "5s"), (300, "5s"), (1000, "5s"), (3000, "60s")])
    func aTokenIsTheNewerOne(latency: Int, timeout: String) throws {
        let session = try session(timeout: timeout)
        try begin("old", session)
        #expect(try session.token().value.utf8String == "old")
        try begin("ours", try self.session(isConnected: false))
        try anotherProgramSaves(latency: latency)
        #expect(try session.token().value.utf8String == "theirs")
    }
}
