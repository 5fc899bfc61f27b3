import Foundation
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepSecretService

/// Prompts that nobody answers.
@Suite struct PromptMovedClockTests {
    @Test func aPromptThatNobodyAnswersIsDismissedAtTheDeadline() throws {
        let fake = try FakeService(#"{"locked": true, "prompt": "never"}"#)
        let outcome = try TestClock.passLimits(when: { fake.hasGot("Prompt") }) {
            status { _ = try fake.client.load("example.com", "ann", prompts: true) }
        }
        #expect(outcome.answer == .locked)
        #expect(outcome.took(milliseconds: Patience.milliseconds), "prompts wait beyond the timeout")
        try waitUntil { (try? fake.calls().last) == "Dismiss" }
        try fake.configure(#"{"prompt": "accept"}"#)
        #expect(status { _ = try fake.client.load("example.com", "ann", prompts: true) } == .notFound, "no breaker")
    }

    /// While a person reads a prompt, other threads change other items.
    @Test func aPromptHoldsNobodyUp() throws {
        let locked = FakeService.item("1", FakeService.ours(), secret: "x", isLocked: true)
        let fake = try FakeService("{\"prompt\": \"never\", \"items\": {\(locked)}}")
        let client = fake.client
        let outcome = MutexGuarded<Status?>(nil)
        let thread = TestThread {
            let status = status { try client.save("example.com", "ann", "new", prompts: true) }
            outcome.withLock { $0 = status }
        }
        try waitUntil { fake.hasGot("Prompt") }
        for index in 0..<32 { try client.save("example.com", "other \(index)", "token") }
        #expect(outcome.withLock { $0 } == nil, "the prompt is still there")
        _ = try TestClock.passLimits { thread.join() }
        #expect(outcome.withLock { $0 } == .locked)
    }

    @Test(.enabled(if: PrivateKeePassXC.isInstalled, "keepassxc is not installed: apt-get install keepassxc"))
    func aPromptOfKeePassXCThatNobodyAnswersEndsAtTheDeadline() throws {
        let keePassXC = try PrivateKeePassXC()
        let client = try ServiceClient(keePassXC.bus)
        try client.save("example.com", "ann", "token")
        try keePassXC.lock()
        let monitor = try BusMonitor(keePassXC.bus)
        let outcome = try TestClock.passLimits(when: { monitor.hasPassed("Prompt") }) {
            status { _ = try client.load("example.com", "ann", prompts: true) }
        }
        #expect(outcome.answer == .locked)
        #expect(outcome.took(milliseconds: Patience.milliseconds), "\(outcome.duration)")
        try keePassXC.unlock()
        #expect(try client.load("example.com", "ann") == "token")
    }
}
