import Foundation
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepSecretService

/// A fake service that leaves calls without an answer.
@Suite struct SilenceMovedClockTests {
    /// What the product gives the service for a call.
    private static let usual: UInt32 = 5000

    /// Runs a call until its limit ends it, while the service holds a message of it.
    private func passLimits<Answer>(
        of fake: FakeService, _ body: () throws -> Answer
    ) throws -> TestClock.Outcome<Answer> {
        try TestClock.passLimits(when: { fake.holdsCalls }, of: body)
    }

    /// Each answer comes in time, all of them together do not.
    @Test func theTimeoutIsOfTheWholeCall() throws {
        let fake = try FakeService(MisbehaviourTests.ours, timeout: Patience.milliseconds)
        let late = #"{"do": "late", "seconds": 15}"#
        try fake.configure(
            #"{"override": {"SearchItems": \#(late), "GetAll": \#(late), "GetSecrets": {"do": "hang"}}}"#)
        let outcome = try passLimits(of: fake) {
            status { _ = try fake.client.load("example.com", "ann", within: .max) }
        }
        #expect(outcome.answer == .timedOut)
        #expect(outcome.duration >= .milliseconds(Patience.milliseconds))
        #expect(outcome.duration < .seconds(15 + 15) + .milliseconds(Patience.milliseconds), "\(outcome.duration)")
    }

    @Test(arguments: ["OpenSession", "SearchItems", "GetAll", "GetSecrets", "SetSecret", "CreateItem", "Delete"])
    func silenceEndsAtTheDeadline(member: String) throws {
        let fake = try FakeService(MisbehaviourTests.ours, timeout: Patience.milliseconds)
        try fake.configure(#"{"override": {"\#(member)": {"do": "hang"}}}"#)
        let body = {
            switch member {
            case "SetSecret": try fake.client.save("example.com", "ann", "new")
            case "CreateItem": try fake.client.save("example.com", "bob", "new")
            case "Delete": _ = try fake.client.clear("example.com", "ann")
            default: _ = try fake.client.load("example.com", "ann")
            }
        }
        let outcome = try passLimits(of: fake) { status(body) }
        #expect(outcome.answer == .timedOut)
        #expect(outcome.took(milliseconds: Patience.milliseconds), "\(outcome.duration)")
        #expect(status(body) == .unavailable, "the breaker is open: nobody is asked")
        #expect(
            errorText(body).hasPrefix("the Secret Service did not answer an earlier call and has not come back"))
    }

    /// The module's own limit, where the call has more time.
    @Test func theModulesTimeoutHolds() throws {
        let fake = try FakeService(#"{"override": {"SearchItems": {"do": "hang"}}}"#)
        let outcome = try passLimits(of: fake) { status { _ = try fake.client.load("example.com", "ann") } }
        #expect(outcome.answer == .timedOut)
        #expect(outcome.duration >= .milliseconds(Self.usual))
        #expect(outcome.duration < .milliseconds(Patience.milliseconds), "\(outcome.duration)")
    }

    @Test func aLateAnswerClosesTheBreaker() throws {
        let fake = try FakeService(MisbehaviourTests.ours)
        #expect(try fake.client.load("example.com", "ann") == "token")
        try fake.configure(#"{"override": {"GetSecrets": {"do": "hang"}}}"#)
        try TestClock.standing {
            let outcome = try passLimits(of: fake) { status { _ = try fake.client.load("example.com", "ann") } }
            #expect(outcome.answer == .timedOut)
            #expect(status { _ = try fake.client.load("example.com", "ann") } == .unavailable)
            try fake.configure(#"{"override": {}}"#)
            try fake.release()
            try waitUntil { status { _ = try fake.client.load("example.com", "ann") } == .ok }
        }
    }

    /// A service that does not answer a hasty call may be healthy: other calls ask it.
    @Test func aHastyCallOpensNoBreaker() throws {
        let items = ["1": "ann", "2": "bob"].map {
            FakeService.item($0, FakeService.ours("example.com", $1), secret: "token")
        }
        let fake = try FakeService(#"{"items": {\#(items.joined(separator: ", "))}}"#)
        #expect(try fake.client.load("example.com", "bob") == "token")
        try fake.configure(#"{"override": {"GetAll": {"do": "hang", "path": "/1"}}}"#)
        try TestClock.standing {
            let outcome = try passLimits(of: fake) {
                status { _ = try fake.client.load("example.com", "ann", within: BusConnection.hasty - 1) }
            }
            #expect(outcome.answer == .timedOut)
        }
        #expect(fake.client.module.mayAnswer)
        #expect(try fake.client.load("example.com", "bob") == "token")
    }

    /// An answer is lost, and the service answers everything else: a probe finds it at once.
    @Test func aProbeFindsAServiceThatIsBack() throws {
        let fake = try FakeService(MisbehaviourTests.ours)
        #expect(try fake.client.load("example.com", "ann") == "token")
        try fake.configure(#"{"override": {"GetSecrets": {"do": "hang"}}}"#)
        try TestClock.standing {
            let outcome = try passLimits(of: fake) { status { _ = try fake.client.load("example.com", "ann") } }
            #expect(outcome.answer == .timedOut)
            #expect(!fake.client.module.mayAnswer)
            try fake.configure(#"{"override": {}}"#)
            #expect(fake.client.module.mayAnswer(asking: fake.client.call()))
            #expect(fake.client.module.mayAnswer)
            #expect(try fake.client.load("example.com", "ann") == "token")
        }
    }

    /// What was listed before the deadline is told, and that there may be more.
    @Test func aListThatTakesTooLongTellsWhatItHas() throws {
        let items = (1...200).map { number in
            FakeService.item("\(number)", FakeService.ours("example.com", "account \(number)"), secret: "x")
        }
        let hang = #""override": {"GetAll": {"do": "hang", "path": "/99"}}"#
        let fake = try FakeService("{\(hang), \"items\": {\(items.joined(separator: ", "))}}")
        let listing = try passLimits(of: fake) {
            try fake.client.module.list(namespace: "", service: nil, fake.client.call())
        }.answer
        #expect(listing.items.count == 128 && listing.problem?.status == .timedOut)
        #expect(listing.problem?.module == "secret-service")
        #expect(listing.problem?.message == "the Secret Service did not tell of all items in time")
        #expect(!listing.items.contains { $0.name.account == "account 99" })
    }

    /// What a twin does not answer is a failure: the service may hang, and what was sent may arrive.
    @Test func aTwinThatDoesNotAnswerEndsTheSave() throws {
        let both = [
            FakeService.item("1", FakeService.ours(), secret: "ours", modified: 5),
            FakeService.item("2", ["service": "example.com", "username": "ann"], secret: "theirs", modified: 9),
        ]
        let fake = try FakeService(#"{"items": {\#(both.joined(separator: ", "))}}"#)
        try fake.configure(#"{"override": {"SetSecret": {"do": "hang", "path": "/2"}}}"#)
        let outcome = try passLimits(of: fake) { status { try fake.client.save("example.com", "ann", "new") } }
        #expect(outcome.answer == .timedOut)
    }
}
