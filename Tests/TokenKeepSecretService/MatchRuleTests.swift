import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepSecretService

/// The match rules that the bus stores for a connection.
@Suite struct MatchRuleTests {
    private let keyring: PrivateKeyring
    private let connection: BusConnection

    init() throws {
        keyring = try PrivateKeyring()
        try GLibrary.load()
        connection = try BusConnection.connect(
            to: keyring.bus.address, breaker: CircuitBreaker(), observers: ChangeObservers(),
            until: Deadline(milliseconds: Patience.milliseconds))
    }

    private func ask(_ interface: String, _ member: String, _ body: Variant, _ answerType: String) throws -> Variant {
        let call = MethodCall(
            destination: ServiceOwner.bus, path: .bus, interface: interface, member: member, body: body,
            answerType: answerType)
        let reply = try connection.exchange(call, until: Deadline(milliseconds: Patience.milliseconds))
        guard case .answer(let answer) = reply else { throw HarnessFailure(message: "\(member): \(reply)") }
        return answer
    }

    /// The rules about the service's name. No other connection of this bus has any.
    private func storedRules() throws -> Int {
        let rules = try ask("org.freedesktop.DBus.Debug.Stats", "GetAllMatchRules", .tuple([]), "(a{sas})")
        return rules[0].children.flatMap { $0[1].children }.count { $0.text?.contains(BusWatch.serviceName) == true }
    }

    private func find() throws {
        _ = try ServiceOwner.find(over: connection, ownVault: nil, until: Deadline(milliseconds: Patience.milliseconds))
    }

    @Test func aRuleOfACancelledCallIsStoredOnce() throws {
        // The bus stores the rules, and the call ends before the bus's reply.
        let (remove, add) = connection.watch.beginRequest()
        #expect(remove == [] && Set(add) == BusWatch.rules)
        for rule in add { _ = try ask(ServiceOwner.bus, "AddMatch", .tuple([.string(rule)]), "()") }
        connection.watch.endRequest(accepted: nil)
        #expect(try storedRules() == BusWatch.rules.count)
        try find()
        #expect(connection.watch.missingRules == [])
        #expect(try storedRules() == BusWatch.rules.count)
    }

    @Test func aRuleThatTheBusNeverGotIsStored() throws {
        _ = connection.watch.beginRequest()
        connection.watch.endRequest(accepted: nil)
        try find()
        #expect(try storedRules() == BusWatch.rules.count)
    }

    @Test func twoThreadsDoNotSendARuleTwice() throws {
        let first = connection.watch.beginRequest()
        try find()
        #expect(try storedRules() == 0)
        connection.watch.endRequest(accepted: [])
        #expect(first.add.count == BusWatch.rules.count)
        try find()
        try find()
        #expect(try storedRules() == BusWatch.rules.count)
    }
}
