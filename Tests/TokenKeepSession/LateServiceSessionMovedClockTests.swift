import Foundation
import StoreTestSupport
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepEngine
import TokenKeepSession

/// A connected session beside a Secret Service that answers late, with a pending sign-in for the service, while another
/// program has signed in there. The service sets the clock forward by the time that its answers take.
@Suite struct LateServiceSessionMovedClockTests {
    private let service: FakeSecretService
    private let ours: TestStore

    init() throws {
        service = try FakeSecretService()
        ours = TestStore(service.bus)
    }

    private func session(isConnected: Bool = true, stack: String? = nil) throws -> SessionEngine {
        try SessionEngine(
            ours.open(isConnected: isConnected, stack: stack), service: "api.example.com", account: "ann",
            SessionOptions())
    }

    private func text(_ session: SessionEngine) throws -> String? { try session.token().value.utf8String }

    /// A session that has read its token from the service, before the changes.
    private func connected(latency: Int, stack: String? = nil) throws -> SessionEngine {
        let session = try session(stack: stack)
        try session.begin(rawToken: SecretBytes("old"))
        #expect(try text(session) == "old")
        try self.session(isConnected: false).begin(rawToken: SecretBytes("ours"))
        try otherProgramSignsIn(latency: latency)
        return session
    }

    /// The item's secret becomes "theirs", later than the pending sign-in.
    private func otherProgramSignsIn(latency: Int) throws {
        let read = try JSONSerialization.jsonObject(with: Data(service.items().utf8))
        var items = try #require(read as? [String: [String: Any]])
        #expect(items.count == 1)
        for path in items.keys {
            let secret = try #require(items[path]?["secret"] as? String)
            #expect(secret.contains("old"))
            items[path]?["secret"] = secret.replacingOccurrences(of: "old", with: "theirs")
            items[path]?["modified"] = Int(Date().timeIntervalSince1970) + 2
        }
        let behaviour = try JSONSerialization.data(withJSONObject: ["items": items, "latency": latency])
        try service.configure(String(decoding: behaviour, as: UTF8.self))
    }

    @Test(arguments: [0, 100, 300, 1000]) func aTokenIsTheNewerOne(latency: Int) throws {
        let session = try connected(latency: latency)
        #expect(try text(session) == "theirs")
    }

    /// Two answers of 3 s are later than the 5 s that the module has without a setting.
    @Test func aTokenIsTheNewerOneIfTheModuleHasTheTimeForIt() throws {
        let session = try connected(
            latency: 3000, stack: "any sufficient secret-service timeout=60s\nany required vault")
        #expect(try text(session) == "theirs")
    }
}
