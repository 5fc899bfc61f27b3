import Testing

/// The rows of docs/sessions.md about one event. Exactly one row applies to each evidence, and names the decision.
struct RuleTable<Evidence, Decision: Equatable> {
    private let rows: [(name: String, decision: Decision, applies: (Evidence) -> Bool)]

    init(_ rows: [(name: String, decision: Decision, applies: (Evidence) -> Bool)]) { self.rows = rows }

    func check(_ all: [Evidence], _ decide: (Evidence) -> Decision) {
        for evidence in all {
            let matching = rows.filter { $0.applies(evidence) }
            #expect(matching.count == 1, "\(evidence) is in the rows \(matching.map(\.name))")
            for row in matching { #expect(row.decision == decide(evidence), "\(row.name): \(evidence)") }
        }
        for row in rows { #expect(all.contains(where: row.applies), "no evidence for \(row.name)") }
    }
}

let bools = [false, true]
