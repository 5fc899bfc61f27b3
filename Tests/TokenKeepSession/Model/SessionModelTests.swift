import TestSupport
import Testing

/// Random histories of two processes' handles on one session: sign-ins, logouts, locks, restarts, lost answers.
///
/// `TOKENKEEP_SESSION_HISTORIES` says how many, `TOKENKEEP_MODEL_SEED` which is the first: a failure prints its own.
struct SessionModelTests {
    private static let workers = 2
    private static let count = environmentNumber("TOKENKEEP_SESSION_HISTORIES") ?? 300
    private static let firstSeed = environmentNumber("TOKENKEEP_MODEL_SEED") ?? 1

    @Test(arguments: 0..<workers)
    func noHistoryLosesOrRevivesASession(worker: Int) throws {
        for number in stride(from: worker, to: Int(Self.count), by: Self.workers) {
            let seed = Self.firstSeed + UInt64(number)
            let steps = SessionStep.history(seed: seed)
            guard let failure = play(steps, seed) else { continue }
            let (shortest, broken, log) = shorten(steps, seed, failure)
            Issue.record(
                """
                seed \(seed): \(broken)
                the shortest of its histories that fails: \(shortest.count) steps
                \(log.joined(separator: "\n"))
                """)
            return
        }
    }

    /// The rule that a history broke, and what happened until then; nil if it broke none.
    private func play(_ steps: [SessionStep], _ seed: UInt64) -> (broken: String, log: [String])? {
        do {
            let player = try SessionPlayer(seed: seed)
            do {
                try player.play(steps)
                return nil
            } catch {
                return ("\(error)", player.log)
            }
        } catch {
            return ("\(error)", [])
        }
    }

    /// Leaves out step after step as long as what remains fails.
    private func shorten(
        _ steps: [SessionStep], _ seed: UInt64, _ failure: (broken: String, log: [String])
    ) -> (steps: [SessionStep], broken: String, log: [String]) {
        var (steps, failure, index) = (steps, failure, 0)
        while index < steps.count {
            var fewer = steps
            fewer.remove(at: index)
            if let still = play(fewer, seed) {
                (steps, failure, index) = (fewer, still, 0)
            } else {
                index += 1
            }
        }
        return (steps, failure.broken, failure.log)
    }
}
