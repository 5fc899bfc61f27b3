import Testing
import TokenKeep
import TokenKeepCore

/// The values of the Swift API are those of the engine.
@Suite struct EngineValuesTests {
    private typealias Face = TokenKeep.TokenKeepError.Status

    @Test func statusesAreTheEngines() {
        let statuses: [Face] = [
            .ok, .notFound, .locked, .unavailable, .timedOut, .cancelled, .denied, .policy, .expired, .conflict,
            .duplicate, .corrupt, .invalid, .unsupported, .io, .busy, .forked, .internal, .needsLogin,
        ]
        #expect(statuses.map(\.rawValue) == Status.allCases.map(\.rawValue))
        #expect(statuses.map(\.name) == Status.allCases.map(\.name))
        #expect(Face(rawValue: 1000).name == "INTERNAL")
    }

    @Test func levelsAreTheEngines() {
        #expect(TokenKeep.TokenItem.Accessibility.allCases.map(\.rawValue) == AccessLevel.allCases.map(\.rawValue))
        #expect(
            TokenKeep.TokenItem.Accessibility.allCases.map { "\($0)" } == AccessLevel.allCases.map { "\($0)" })
        #expect(TokenStore.Protection.Axis.allCases.map(\.rawValue) == ProtectionAxis.allCases.map(\.rawValue))
        let flags: TokenKeep.TokenItem.Flags = [.requireEnforced, .userPresence, .synchronizable]
        #expect(flags.rawValue == ItemFlags.known.rawValue)
    }
}
