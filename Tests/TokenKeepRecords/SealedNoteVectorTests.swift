import Foundation
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepKeys
@testable import TokenKeepRecords

/// What the vault notes of sealed items is what another implementation reads and writes.
@Suite struct SealedNoteVectorTests {
    private static let all = Vector.all.filter { $0.fields["note"] != nil }
    private static let good = all.filter { $0.fields["expect"] == "OK" }

    private let directory = TemporaryDirectory()

    private func unpacked(_ vector: Vector) throws -> (opened: OpenVault, notes: SealedNotes) {
        vector.unpack(into: directory)
        let opened = try #require(try vector.records(in: directory).opener.open())
        return (opened, SealedNotes(opened))
    }

    private func outcome<Result>(_ body: () throws(TokenKeepError) -> Result?) -> (status: Status, result: Result?) {
        do throws(TokenKeepError) {
            let result = try body()
            return (result == nil ? .notFound : .ok, result)
        } catch {
            return (error.status, nil)
        }
    }

    @Test func thereAreVectors() {
        #expect(SealedNoteVectorTests.good.count > 30)
        #expect(SealedNoteVectorTests.all.count > 150)
    }

    @Test(arguments: all)
    func reads(vector: Vector) throws {
        let notes = try unpacked(vector).notes
        let name = try vector.name()
        let expected = try vector.note()
        let (status, note) = outcome { () throws(TokenKeepError) in try notes.note(of: name) }
        #expect(status.name == vector.fields["expect"], "\(vector.fields["comment"] ?? "")")
        #expect(note?.name == expected?.name && note?.level == expected?.level && note?.flags == expected?.flags)
        #expect(note?.holders == expected?.holders)
        // A note that cannot be read is a note.
        #expect(try notes.has(name) == (status != .notFound))
        let (statusOfAll, others) = outcome { () throws(TokenKeepError) in try notes.all() }
        #expect(statusOfAll == (status == .notFound ? .ok : status))
        #expect(others?.contains { $0 == note } == (note == nil ? others.map { _ in false } : true))
        #expect(vector.isUnchanged(in: directory))
    }

    /// All but the nonce and what hangs on it is the same.
    @Test(arguments: good)
    func writesTheSame(vector: Vector) throws {
        let (opened, notes) = try unpacked(vector)
        let path =
            "vault/\(EraDirectory.name(opened.era.number))/sealed/"
            + Hexadecimal.text(opened.keys.fileName(of: try vector.name()))
        let before = try #require(directory.read(path))
        try notes.write(try #require(try notes.note(of: vector.name())))
        let after = try #require(directory.read(path))
        #expect(after != before && after.prefix(48) == before.prefix(48))
        #expect(try plaintext(of: after, opened.keys) == plaintext(of: before, opened.keys))
        #expect(
            !directory.names(in: "vault/\(EraDirectory.name(opened.era.number))/sealed").contains {
                $0.hasSuffix(".tmp") && path.hasSuffix($0)
            })
    }

    private func plaintext(of note: [UInt8], _ keys: KeyRing) throws -> [UInt8] {
        let era = withUnsafeBytes(of: keys.era.littleEndian) { Array($0) }
        let data = Array("TKsealed".utf8) + note.prefix(48) + era
        let opened = try Array(note.dropFirst(48)).withUnsafeBytes {
            try AuthenticatedBox.open($0, key: keys.states, data: data, "note")
        }
        return opened.withUnsafeBytes { Array($0) }
    }

    /// What no reader would take is not written, and the note stays as it is.
    @Test func writesNothingThatBreaksTheRules() throws {
        let vector = try #require(
            SealedNoteVectorTests.good.first { $0.testDescription == "valid-note-optional-fields.vector" })
        let notes = try unpacked(vector).notes
        let good = try #require(try notes.note(of: vector.name()))
        let holder = try #require(good.holders.first)
        func changed(_ change: (inout SealedNote) throws -> Void) rethrows -> SealedNote {
            var note = good
            try change(&note)
            return note
        }
        func holding(
            _ module: String, machine: Int = 16, keys: Int = 1, fingerprints: Int = 1, ofLength length: Int = 16
        ) -> SealedNote {
            changed {
                $0.holders = [
                    SealedNote.Holder(
                        module: module, machine: [UInt8](repeating: 0, count: machine),
                        keyIDs: [UInt64](repeating: 1, count: keys),
                        fingerprints: Array(repeating: [UInt8](repeating: 1, count: length), count: fingerprints))
                ]
            }
        }
        let bad = try [
            changed { $0.holders = Array(repeating: holder, count: 65) }, holding("m", keys: 17), holding(""),
            holding(String(repeating: "m", count: 65)), holding(String(repeating: "m", count: 256)), holding("M"),
            holding("m", machine: 15), holding("m", fingerprints: 17), holding("m", ofLength: 15),
            changed { $0.level = .memoryOnly },
            changed { $0.flags = ItemFlags(rawValue: 8) },
            changed {
                let value = [UInt8](repeating: 0, count: SealedNoteFormat.maximumFile)
                $0.kept = [try value.withUnsafeBytes { try UnknownField(tag: 0x8000, copying: $0) }]
            },
        ]
        for note in bad {
            #expect(throws: TokenKeepError.self) { try notes.write(note) }
        }
        #expect(vector.isUnchanged(in: directory))
        try notes.write(holding(String(repeating: "m", count: 64), keys: 16, fingerprints: 16))
        #expect(try notes.note(of: vector.name())?.holders.first?.keyIDs.count == 16)
    }
}
