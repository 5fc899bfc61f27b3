import StoreTestSupport
import Synchronization
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepEngine

@Suite struct TraceTests {
    private let directory = TemporaryDirectory()
    private let events = Events()
    /// Stores that trace into the events.
    private var stores: TestStore {
        TestStore(in: directory) { [events] configuration, _ in configuration.trace = { events.add($0.description) } }
    }

    private final class Events: Sendable {
        private let lines = Mutex<[String]>([])
        func add(_ line: String) { lines.withLock { $0.append(line) } }
        func take() -> [String] {
            lines.withLock { lines in
                defer { lines = [] }
                return lines
            }
        }
    }

    @Test func saysWhoAnsweredWhatAndWhatFollows() throws {
        let store = try stores.open(stack: "any sufficient memory\nany required vault")
        _ = try? store.load(service: "s", account: "a")
        #expect(
            events.take() == [
                "load s (a): memory: NOT_FOUND, bad: the failure counts, on to vault",
                "load s (a): vault: NOT_FOUND, bad: the failure counts, no line is left",
            ])
        let name = try ItemName(service: "s", account: "a")
        _ = try store.save(SaveRequest(name: name, secret: SecretBytes("hidden"), accessLevel: .afterFirstUnlock))
        #expect(
            events.take() == [
                "save s (a): memory: OK, done: the answer counts, the walk ends",
                "clear s (a): vault: OK, an older copy goes",
            ])
        _ = try store.load(service: "s", account: "a")
        _ = try store.list(service: "s")
        try store.clear(service: "s", account: "a")
        #expect(
            events.take() == [
                "load s (a): memory: OK, done: the answer counts, the walk ends",
                "list s: memory: OK, ok: the answer counts, on to vault",
                "list s: vault: OK, ok: the answer counts, no line is left",
                "clear s (a): memory: OK, ok: the answer counts, on to vault",
                "clear s (a): vault: OK, ok: the answer counts, no line is left",
            ])
    }

    @Test func neverHoldsASecret() throws {
        let store = try stores.open(stack: "any [ok=ok] memory\nany required vault")
        let name = try ItemName(service: "s", account: "a")
        _ = try store.save(SaveRequest(name: name, secret: SecretBytes("hidden"), label: "private"))
        _ = try store.load(service: "s", account: "a")
        let text = events.take().joined(separator: "\n")
        #expect(text.contains("save s (a): vault: OK"))
        #expect(!text.contains("hidden") && !text.contains("private"))
    }
}
