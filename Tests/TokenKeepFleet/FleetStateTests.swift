import Testing

@testable import TokenKeepFleet

@Suite("A device's memory of its registry")
struct FleetStateTests {
    @Test("1000 events are remembered, and the oldest is forgotten")
    func events() {
        var state = FleetState()
        for at in (1...1001).reversed() { state.remember(event: Int64(at), of: "everywhere/\(at)") }
        #expect(state.handled.count == 1000)
        #expect(state.handled["everywhere/1"] == nil && state.handled["everywhere/2"] == 2)
        state.remember(event: 5000, of: "everywhere/2")
        #expect(state.handled.count == 1000 && state.handled["everywhere/2"] == 5000)
    }

    @Test("another registry, or one that went back, gets all anew; what was obeyed stays so")
    func restores() {
        var state = FleetState()
        state.meet(cluster: 1, revision: 10)
        state.remember(order: "a")
        for (cluster, revision) in [(UInt64(1), Int64(9)), (2, 20)] {
            state.published = ["account": FleetState.Published(hash: "h", at: 1)]
            state.meet(cluster: cluster, revision: revision)
            #expect(state.published.isEmpty && state.obeyed == ["a"])
        }
        state.published = ["account": FleetState.Published(hash: "h", at: 1)]
        state.meet(cluster: 2, revision: 21)
        #expect(state.published.count == 1)
    }
}
