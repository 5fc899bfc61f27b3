import Foundation
import FuzzTargets
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepSession

/// Mutations of the inputs from which fuzzing begins (Tests/Fuzz/Corpus): no trap, and what is read can be written.
///
/// `TOKENKEEP_MUTATIONS` is the number of mutations of each input, `TOKENKEEP_MODEL_SEED` the first seed.
struct SessionMutationTests {
    private static let count = environmentNumber("TOKENKEEP_MUTATIONS") ?? 200
    private static let firstSeed = environmentNumber("TOKENKEEP_MODEL_SEED") ?? 1
    private static let corpus = #filePath.replacingOccurrences(
        of: "TokenKeepSession/SessionMutationTests.swift", with: "Fuzz/Corpus")

    @Test(arguments: FuzzTarget.allCases) func mutationsAreTakenOrRefused(target: FuzzTarget) throws {
        let directory = "\(Self.corpus)/\(target.rawValue)"
        let inputs = try FileManager.default.contentsOfDirectory(atPath: directory)
        var (taken, refused) = (0, 0)
        for input in inputs.sorted() {
            let bytes = try [UInt8](Data(contentsOf: URL(filePath: "\(directory)/\(input)")))
            for seed in Self.firstSeed..<Self.firstSeed + Self.count {
                var mutation = Mutation(seed: seed)
                let mutated = seed == Self.firstSeed ? bytes : mutation.mutated(bytes)
                do {
                    if try mutated.withUnsafeBytes(target.takes) { taken += 1 } else { refused += 1 }
                } catch {
                    Issue.record("\(input), seed \(seed): \(error)")
                }
            }
        }
        #expect(taken > 0 && refused > 0)
    }

    /// All fields of a note are written and read.
    @Test func aNoteWithAllFieldsIsReadAsItWasWritten() throws {
        let now = SessionTime(wall: 1_800_000_000, boottime: 1000, boot: "one")
        var note = SessionNote()
        note.epoch = String(repeating: "ab", count: 16)
        note.endedEpoch = "cd"
        note.isStashed = true
        note.endsLocally = true
        note.scope = "read"
        note.refreshLevel = AccessLevel.whenUnlocked.rawValue
        note.refreshItems = 3
        note.logoutMark = 7
        note.rotation = .overlap(seconds: 60)
        note.refreshing = SessionNote.Refreshing(
            fingerprint: [UInt8](repeating: 3, count: 16), since: now, process: 4711, isAnswered: true)
        #expect(try SessionNote(note.serialized()) == note)
    }
}
