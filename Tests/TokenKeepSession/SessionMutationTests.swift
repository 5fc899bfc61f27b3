import Foundation
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepRecords
@testable import TokenKeepSession

/// Mutated records, notes, token responses, JSON Web Tokens and dates: no trap, and what is read can be written.
///
/// `TOKENKEEP_MUTATIONS` is the number of mutations of each kind, `TOKENKEEP_MODEL_SEED` the first seed.
struct SessionMutationTests {
    private static let count = environmentNumber("TOKENKEEP_MUTATIONS") ?? 2000
    private static let firstSeed = environmentNumber("TOKENKEEP_MODEL_SEED") ?? 1

    private let now = SessionTime(wall: 1_800_000_000, boottime: 1000, boot: "one")

    /// Runs `body`, which returns whether the input was taken, with every mutation of each sample.
    private func play(_ samples: [String], _ body: ([UInt8]) throws -> Bool) throws {
        try play(samples.map { Array($0.utf8) }, body)
    }

    private func play(_ samples: [[UInt8]], _ body: ([UInt8]) throws -> Bool) throws {
        var (taken, refused) = (0, 0)
        for sample in samples {
            #expect(try body(sample), "the sample itself")
            for seed in Self.firstSeed..<Self.firstSeed + Self.count {
                var mutation = Mutation(seed: seed)
                if try body(mutation.mutated(sample)) { taken += 1 } else { refused += 1 }
            }
        }
        #expect(taken > 0 && refused > 0)
    }

    @Test func records() throws {
        let samples = [
            #"{"tokenkeep_session":1,"kind":"user","epoch":"ab","access_token":"a","token_type":"Bearer","#
                + #""refresh_token":"r","expires_in":3600,"obtained":{"wall":1,"boottime":2,"boot":"one"},"offset":-5,"#
                + #""generation":7,"response":{"plan":"gold"},"profile":{"name":"Ann"}}"#,
            #"{"accessToken":"a","refreshToken":"r","expiresAt":1800000600,"team":"blue"}"#,
        ]
        try play(samples) { bytes in
            guard var record = try? SessionRecord(SecretBytes(copying: bytes), now: now) else { return false }
            _ = record.life.left(at: now)
            _ = (record.kind, record.scope, record.provider, record.generation)
            try record.take(try SessionRecord(record.serializedForStash(), now: now))
            let again = try SessionRecord(record.serialized(), now: now)
            #expect(again.accessToken == record.accessToken)
            #expect(again.refreshToken == record.refreshToken)
            return true
        }
    }

    @Test func notes() throws {
        var note = SessionNote()
        note.epoch = String(repeating: "ab", count: 16)
        note.endedEpoch = "cd"
        note.isStashed = true
        note.endsLocally = true
        note.scope = "read"
        note.rotation = .overlap(seconds: 60)
        note.refreshing = SessionNote.Refreshing(
            fingerprint: [UInt8](repeating: 3, count: 16), since: now, process: 4711, isRepeated: true)
        #expect(try SessionNote(note.serialized()) == note)
        try play([note.serialized()]) { bytes in
            guard let read = try? SessionNote(bytes) else { return false }
            let again = try SessionNote(read.serialized())
            // A scope or provider that is too long is left out.
            #expect(again.epoch == read.epoch && again.refreshing == read.refreshing)
            return true
        }
    }

    @Test func tokenResponses() throws {
        let sample =
            #"{"access_token":"a","token_type":"Bearer","expires_in":"3600","refresh_token":"r","scope":"read write","#
            + #""id_token":"x.y.z","more":[1,{"deep":null}]}"#
        try play([sample]) { bytes in
            try bytes.withUnsafeBytes { bytes in
                guard let response = try? TokenResponse.strict(bytes) else { return false }
                let record = try SessionRecord(.user, response, epoch: "ab", provider: nil, now: now)
                #expect(try SessionRecord(record.serialized(), now: now).accessToken == response.accessToken)
                return true
            }
        }
    }

    @Test func answers() throws {
        let sample = #"{"error":"invalid_grant","error_description":"it was revoked"}"#
        try play([sample]) { bytes in
            let response = SessionResponse(status: 400, body: try SecretBytes(copying: bytes))
            if case .refused = try RefreshAnswer.judge(response, serverTime: now.wall) { return true }
            return false
        }
    }

    @Test func claims() throws {
        let claims = Data(#"{"sub":"ann","exp":1800000000,"aud":["a"]}"#.utf8).base64EncodedString()
        let sample = "eyJhbGciOiJub25lIn0." + claims.filter { $0 != "=" } + ".c2ln"
        try play([sample]) { bytes in
            guard let claims = UnverifiedClaims(unverified: try SecretBytes(copying: bytes)) else { return false }
            _ = (claims.unverified("sub"), claims.unverified("exp"), claims.unverified("aud"))
            #expect(try claims.serialized().count > 1)
            return true
        }
    }

    @Test func datesAndDelays() throws {
        try play(["Tue, 24 Nov 2026 03:00:00 GMT", "120"]) { bytes in
            let text = String(decoding: bytes, as: UTF8.self)
            let delay = HTTPDate.delay(text, now: now.wall)
            if let delay { #expect(delay >= 0) }
            return delay != nil || HTTPDate.seconds(text) != nil
        }
    }
}

extension SecretBytes {
    fileprivate convenience init(copying bytes: [UInt8]) throws {
        try self.init(count: bytes.count) { $0.copyBytes(from: bytes) }
    }
}
