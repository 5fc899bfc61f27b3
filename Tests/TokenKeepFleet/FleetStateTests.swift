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
}
