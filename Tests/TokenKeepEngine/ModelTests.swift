import Foundation
import TestSupport
import Testing

/// Random histories of several stores on one vault, with a service that fails and that other programs use.
///
/// `TOKENKEEP_MODEL_COUNT` is the number of histories, `TOKENKEEP_MODEL_SEED` the first seed. Each failure prints the
/// history's seed. `TOKENKEEP_MODEL_WORLD` names the only world in which they are played.
@Suite struct ModelTests {
    private static let workers = 4
    private static let count = environmentNumber("TOKENKEEP_MODEL_COUNT") ?? 2000
    private static let firstSeed = environmentNumber("TOKENKEEP_MODEL_SEED") ?? 1
    private static let worlds = HistoryWorld.allCases.filter { world in
        ProcessInfo.processInfo.environment["TOKENKEEP_MODEL_WORLD"].map { $0 == "\(world)" } ?? true
    }

    /// Plays all histories in the world `oneService`, and a quarter of them in each other world.
    @Test(arguments: 0..<workers, worlds)
    func noHistoryLosesOrRevivesAToken(worker: Int, world: HistoryWorld) throws {
        let directory = TemporaryDirectory(inMemory: true)
        var seed = Self.firstSeed + UInt64(worker)
        let last = Self.firstSeed + (world == .oneService ? Self.count : (Self.count + 3) / 4)
        while seed < last {
            let steps = HistoryStep.history(seed: seed)
            guard play(steps, world, in: directory) != nil else {
                seed += UInt64(Self.workers)
                continue
            }
            let (shortest, broken, log) = shorten(steps, world, in: directory)
            Issue.record(
                """
                seed \(seed), \(world): \(broken)
                the shortest of its histories that fails: \(shortest.count) steps
                \(log.joined(separator: "\n"))
                """)
            return
        }
    }

    /// Plays one history. Returns what the history broke and its log; nil for success.
    private func play(
        _ steps: [HistoryStep], _ world: HistoryWorld, in directory: TemporaryDirectory
    ) -> (broken: String, log: [String])? {
        // Each history starts without a vault.
        try? FileManager.default.removeItem(atPath: directory.path + "/vault")
        do {
            let name = "\(UUID())"
            let player = try HistoryPlayer(world, vaultPath: directory.path + "/vault", serviceName: name)
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

    /// Removes steps one by one, as long as the shorter history still fails.
    private func shorten(
        _ steps: [HistoryStep], _ world: HistoryWorld, in directory: TemporaryDirectory
    ) -> (steps: [HistoryStep], broken: String, log: [String]) {
        var steps = steps
        var failure = play(steps, world, in: directory) ?? ("not again", [])
        var index = 0
        while index < steps.count {
            var fewer = steps
            fewer.remove(at: index)
            if let still = play(fewer, world, in: directory) {
                (steps, failure, index) = (fewer, still, 0)
            } else {
                index += 1
            }
        }
        return (steps, failure.broken, failure.log)
    }
}
