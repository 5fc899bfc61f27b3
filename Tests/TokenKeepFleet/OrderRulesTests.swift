import Testing
import TokenKeepCore

@testable import TokenKeepFleet

@Suite("Orders: which sessions they end")
struct OrderRulesTests {
    private static let session = LocalSession(
        service: "api", account: "ann", provider: "example", id: String(repeating: "a", count: 32), signedIn: 1_000_500)
    private static let order = OrderValue(
        session: session.id, service: "api", account: "ann", from: "", reason: "lost", at: 2000, eventAt: 2000)

    private func decide(
        _ order: OrderValue?, id: String = "id", isObeyed: Bool = false, local: [LocalSession] = [session],
        now: Int64 = 2001
    ) -> OrderRules.Decision {
        OrderRules.decide(order, id: id, expectedID: { _ in "id" }, isObeyed: isObeyed, local: local, now: now)
    }

    @Test("an order ends the session that it names")
    func endsItsSession() { #expect(decide(Self.order) == .end(Self.session)) }

    @Test("a later session of the same account stays")
    func newerSessionStays() {
        let later = LocalSession(
            service: "api", account: "ann", provider: "example", id: String(repeating: "b", count: 32),
            signedIn: 1_500_000
        )
        #expect(decide(Self.order, local: [later]) == .answer(.gone))
    }

    @Test("a value that does not open, or lies under another id, is not obeyed")
    func forgedOrder() {
        #expect(decide(nil) == .ignore)
        #expect(decide(Self.order, id: "other") == .ignore)
    }

    @Test("an order is obeyed once, and not after 30 days; what was not obeyed can be ordered again")
    func onceAndNotTooLate() {
        #expect(decide(Self.order, isObeyed: true, local: []) == .answer(.done))
        #expect(decide(Self.order, isObeyed: true) == .end(Self.session))
        #expect(decide(Self.order, local: [], now: 2001 + OrderValue.lifetime) == .answer(.gone))
        #expect(decide(Self.order, now: 2000 + OrderValue.lifetime) == .end(Self.session))
        #expect(decide(Self.order, now: 2001 + OrderValue.lifetime) == .answer(.expired))
    }

    @Test("a clock that is ten years off neither hides an order nor repeats it")
    func wrongClock() {
        #expect(decide(Self.order, now: 2000 - 315_360_000) == .end(Self.session))
        #expect(RegistryClock.time(5000, offset: 315_360_000) == 315_365_000)
        #expect(RegistryClock.time(5000, offset: 1) == 5000)
        #expect(RegistryClock.time(.max, offset: 315_360_000) == .max)
        #expect(RegistryClock.exactTime(5_000_250, offset: 315_360_000) == 315_365_000_250)
        #expect(RegistryClock.exactTime(5_000_250, offset: nil) == 5_000_250)
        #expect(RegistryClock.exactTime(.max, offset: .max) == .max)
    }

    @Test("a session's note of the end of time is no end of the runner")
    func latestTimes() {
        // The corrected seconds are the last ones whose milliseconds fit: only without the note's own milliseconds.
        let last: Int64 = .max / 1000
        #expect(RegistryClock.exactTime((last - 10) * 1000 + 999, offset: 10) == (last - 10) * 1000 + 999)
        #expect(RegistryClock.exactTime((last - 10) * 1000 + 807, offset: 10) == .max)
        #expect(RegistryClock.exactTime(.min, offset: -10) == .min)
        #expect(!FleetState.Published(hash: "", at: .min).isFresh(at: 1_800_000_000))
        #expect(!FleetState.Published(hash: "", at: .max).isFresh(at: -2))
        #expect(FleetState.Published(hash: "", at: 86400).isFresh(at: 1))
        #expect(!FleetState.Published(hash: "", at: 1).isFresh(at: 86401))
    }

    @Test("everywhere ends what began before, of the service, account and provider that it names")
    func everywhere() {
        func value(service: String = "", account: String = "", provider: String = "", at: Int64) -> EverywhereValue {
            EverywhereValue(service: service, account: account, provider: provider, from: "", reason: "", event: at)
        }
        func ended(_ value: EverywhereValue) -> [LocalSession] { OrderRules.ended(by: value, among: [Self.session]) }
        // Within a second, too: who signs in and orders at once is obeyed, who orders and signs in at once stays signed in.
        #expect(ended(value(at: 1_000_501)) == [Self.session])
        #expect(ended(value(at: 1_000_500)).isEmpty && ended(value(at: 1_000_000)).isEmpty)
        #expect(ended(value(service: "api", account: "ann", provider: "example", at: 1_001_000)) == [Self.session])
        #expect(ended(value(service: "web", at: 1_001_000)).isEmpty)
        #expect(ended(value(account: "bob", at: 1_001_000)).isEmpty)
        #expect(ended(value(provider: "other", at: 1_001_000)).isEmpty)
        let unknown = LocalSession(service: "api", account: "ann", provider: "", id: "", signedIn: nil)
        #expect(OrderRules.ended(by: value(at: 1), among: [unknown]) == [unknown])
    }

    @Test("everywhere is obeyed once for each event, after the device joined, and for 30 days")
    func everywhereOnce() {
        func isDue(_ at: Int64, obeyed: Int64? = nil, joined: Int64 = 0, now: Int64 = 2000) -> Bool {
            let value = EverywhereValue(service: "", account: "", provider: "", from: "", reason: "", event: at)
            return OrderRules.isDue(value, obeyed: obeyed, joined: joined, now: now)
        }
        let (event, last) = (Int64(1_000_999), 1000 + OrderValue.lifetime)
        #expect(isDue(event) && isDue(event + 1, obeyed: event) && isDue(event, joined: 1000))
        #expect(!isDue(event, obeyed: event) && !isDue(event - 1, obeyed: event) && !isDue(event, joined: 1001))
        #expect(isDue(event, now: last) && !isDue(event, now: last + 1))
    }

    @Test("an order for everywhere is about something later than the order before it, whatever the clocks say")
    func everywhereAgain() {
        func event(after before: Int64?) -> Int64 {
            let before = before.map {
                EverywhereValue(service: "", account: "", provider: "", from: "", reason: "", event: $0)
            }
            return OrderRules.event(now: 5000, after: before)
        }
        #expect(event(after: nil) == 5000 && event(after: 4999) == 5000)
        #expect(event(after: 5000) == 5001 && event(after: 9000) == 9001)
        #expect(event(after: EverywhereValue.latest) == EverywhereValue.latest)
    }

    @Test("pauses double to five minutes, and differ from device to device")
    func backoff() {
        var (early, late) = (Backoff(), Backoff())
        var pauses: [(UInt32, UInt32)] = []
        for _ in 0..<12 { pauses.append((early.pause(random: 0), late.pause(random: 999))) }
        #expect(pauses.first.map { $0.0 == 500 && $0.1 == 1000 } == true)
        #expect(pauses.last.map { $0.0 == 150_000 && $0.1 == 300_000 } == true)
        early.reset()
        #expect(early.pause(random: 5000) == 1000)
    }

    @Test("versions of etcd with known holes are told from those without")
    func versions() {
        for version in ["3.4.23", "3.5.16", "3.5.32", "3.6.13", "3.7.0", "2.3.8", "", "x", "3.5", "3.x.1"] {
            #expect(ServerVersions.hasHoles(version), "\(version)")
        }
        for version in ["3.5.33", "3.6.14", "3.7.1", "3.7.2", "3.8.0", "4.0.0", "3.6.15-rc.1"] {
            #expect(!ServerVersions.hasHoles(version), "\(version)")
        }
    }

    @Test("another registry, or one that went back, has nothing of what was published")
    func restoredRegistry() {
        var state = FleetState()
        state.meet(cluster: 1, revision: 10)
        state.published["a"] = FleetState.Published(hash: "h", at: 1)
        state.remember(order: "o")
        state.handled["e"] = 1000
        state.meet(cluster: 1, revision: 11)
        #expect(state.published.count == 1)
        state.meet(cluster: 1, revision: 9)
        #expect(state.published.isEmpty && state.obeyed == ["o"] && state.handled["e"] == 1000)
        state.published["a"] = FleetState.Published(hash: "h", at: 1)
        state.meet(cluster: 2, revision: 20)
        #expect(state.published.isEmpty)
        for number in 0..<2000 { state.remember(order: "\(number)") }
        #expect(state.obeyed.count == 1000 && state.obeyed.last == "1999")
    }
}
