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
    private let theirs: TestStore

    init() throws {
        service = try FakeSecretService()
        ours = TestStore(service.bus)
        theirs = TestStore(service.bus)
    }

    /// - Parameter milliseconds: the time of the module and of the calls; nil for what users have.
    private func session(
        _ stores: TestStore, isConnected: Bool = true, milliseconds: UInt32? = nil
    ) throws -> SessionEngine {
        let stack = milliseconds.map { "any sufficient secret-service timeout=\($0)ms\nany required vault" }
        let store = try stores.open(isConnected: isConnected, stack: stack) {
            $0.timeoutMilliseconds = milliseconds ?? $0.timeoutMilliseconds
        }
        var options = SessionOptions()
        options.timeoutMilliseconds = milliseconds ?? options.timeoutMilliseconds
        return try SessionEngine(store, service: "api.example.com", account: "ann", options)
    }

    private func text(_ session: SessionEngine) throws -> String? { try session.token().value.utf8String }

    /// A session that has read its token from the service, before the changes.
    private func connected(latency: Int, milliseconds: UInt32? = nil) throws -> SessionEngine {
        let session = try session(ours, milliseconds: milliseconds)
        try session.begin(rawToken: SecretBytes("old"))
        #expect(try text(session) == "old")
        try self.session(ours, isConnected: false).begin(rawToken: SecretBytes("ours"))
        try self.session(theirs).begin(rawToken: SecretBytes("theirs"))
        try setModified(latency: latency)
        return session
    }

    /// The fake's clock counts changes. By the machine's clock its items are later than the pending sign-in.
    private func setModified(latency: Int) throws {
        let read = try JSONSerialization.jsonObject(with: Data(service.items().utf8))
        var items = try #require(read as? [String: [String: Any]])
        for path in items.keys { items[path]?["modified"] = Int(Date().timeIntervalSince1970) + 2 }
        let behaviour = try JSONSerialization.data(withJSONObject: ["items": items, "latency": latency])
        try service.configure(String(decoding: behaviour, as: UTF8.self))
    }

    @Test(arguments: [0, 100, 300, 1000]) func aTokenIsTheNewerOne(latency: Int) throws {
        let session = try connected(latency: latency)
        #expect(try text(session) == "theirs")
    }

    /// Two answers of 3 s are later than the 5 s that the module and the call have without a setting.
    @Test func aTokenIsTheNewerOneIfModuleAndCallHaveTheTimeForIt() throws {
        let session = try connected(latency: 3000, milliseconds: Patience.milliseconds)
        #expect(try text(session) == "theirs")
    }
}
