import Foundation
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepKeys
@testable import TokenKeepRecords

/// The sealed copies that records name are those that another implementation reads and writes.
@Suite struct SealedCopiesVectorTests {
    private static let all = Vector.all.filter { $0.fields["note"] != nil }
    private static let good = all.filter { $0.fields["expect"] == "OK" }

    private let directory = TemporaryDirectory()

    private func unpacked(_ vector: Vector) throws -> (opened: OpenVault, records: SealedRecords) {
        vector.unpack(into: directory)
        let opened = try #require(try vector.records(in: directory).opener.open())
        return (opened, SealedRecords(opened))
    }

    @Test func thereAreVectors() {
        #expect(SealedCopiesVectorTests.good.count > 30)
        #expect(SealedCopiesVectorTests.all.count > 90)
    }

    @Test(arguments: all)
    func reads(vector: Vector) throws {
        let records = try unpacked(vector).records
        let name = try vector.name()
        var status = Status.ok
        var copies: SealedCopies?
        do throws(TokenKeepError) {
            copies = try records.copies(of: name)
            if copies == nil { status = .notFound }
        } catch {
            status = error.status
        }
        #expect(status.name == vector.fields["expect"], "\(vector.fields["comment"] ?? "")")
        #expect(try copies == vector.copies())
        let all = try records.all()
        #expect(all.entries.contains { $0.name == name && $0.copies == copies } == (copies != nil))
        #expect((all.problem == nil) == (status == .ok || status == .notFound))
        #expect(vector.isUnchanged(in: directory))
    }

    /// A change and its opposite leave all but the state's box as it was, and in the box what it held.
    @Test(arguments: good)
    func writesTheSame(vector: Vector) throws {
        let (opened, records) = try unpacked(vector)
        let name = try vector.name()
        let fileName = opened.keys.fileName(of: name)
        let path = "vault/\(EraDirectory.name(opened.era.number))/records/" + Hexadecimal.text(fileName)
        func read() throws -> (bytes: [UInt8], state: StateFields, boxes: [UInt8]) {
            let bytes = try #require(directory.read(path))
            let file = try RecordFile(bytes, name: fileName, keys: opened.keys)
            let prefix = file.prefix
            return (bytes, try file.openState(), Array(bytes.suffix(prefix.metadataLength + prefix.secretLength)))
        }
        let before = try read()
        let copies = try #require(try records.copies(of: name))
        // A record without a value and without pending changes is removed with its last holder.
        guard !copies.holders.isEmpty else { return }
        let other = SealedCopies.Holder(
            module: "other", machine: copies.holders[0].machine, keyIDs: [], fingerprints: [])
        try CopyChanges(opened).change(of: name) { $0?.holders = [other] }
        #expect(try read().state.sealed?.holders == [other])
        try CopyChanges(opened).change(of: name) { $0?.holders = copies.holders }
        let after = try read()
        #expect(after.bytes != before.bytes && after.bytes.prefix(RecordPrefix.length) == before.bytes.prefix(96))
        #expect(after.state == before.state && after.boxes == before.boxes)
        #expect(
            !directory.names(in: "vault/\(EraDirectory.name(opened.era.number))/records").contains {
                $0.hasSuffix(".tmp")
            })
    }

    /// Copies that no reader would take are not written, and the record stays as it is.
    @Test func writesNothingThatBreaksTheRules() throws {
        let vector = try #require(
            SealedCopiesVectorTests.good.first { $0.testDescription == "valid-copies-optional-fields" })
        let (opened, records) = try unpacked(vector)
        let name = try vector.name()
        let good = try #require(try records.copies(of: name))
        let holder = try #require(good.holders.first)
        func holding(
            _ module: String, machine: Int = 16, keys: Int = 1, fingerprints: Int = 1, ofLength length: Int = 16
        ) -> [SealedCopies.Holder] {
            [
                SealedCopies.Holder(
                    module: module, machine: [UInt8](repeating: 0, count: machine),
                    keyIDs: [UInt64](repeating: 1, count: keys),
                    fingerprints: Array(repeating: [UInt8](repeating: 1, count: length), count: fingerprints))
            ]
        }
        let bad = [
            Array(repeating: holder, count: 65), holding("m", keys: 17), holding(""),
            holding(String(repeating: "m", count: 65)), holding(String(repeating: "m", count: 256)), holding("M"),
            holding("m", machine: 15), holding("m", fingerprints: 17), holding("m", ofLength: 15),
        ]
        for holders in bad {
            #expect(throws: TokenKeepError.self) {
                try CopyChanges(opened).change(of: name) { $0?.holders = holders }
            }
        }
        #expect(throws: TokenKeepError.self) { try CopyChanges(opened).change(of: name) { $0?.level = .memoryOnly } }
        #expect(throws: TokenKeepError.self) {
            try CopyChanges(opened).change(of: name) { $0?.flags = ItemFlags(rawValue: 8) }
        }
        #expect(vector.isUnchanged(in: directory))
        try CopyChanges(opened).change(of: name) {
            $0?.holders = holding(String(repeating: "m", count: 64), keys: 16, fingerprints: 16)
        }
        #expect(try records.copies(of: name)?.holders.first?.keyIDs.count == 16)
    }

    /// A record with nothing but sealed copies goes with the last of them.
    @Test func aRecordOfCopiesAloneGoesWithItsLastHolder() throws {
        let vector = try #require(
            SealedCopiesVectorTests.good.first { $0.testDescription == "valid-copies-one-module" })
        let (opened, records) = try unpacked(vector)
        let era = "vault/\(EraDirectory.name(opened.era.number))/records"
        let count = directory.names(in: era).count
        try CopyChanges(opened).change(of: vector.name()) { $0?.holders = [] }
        #expect(directory.names(in: era).count == count - 1)
        #expect(try records.copies(of: vector.name()) == nil)
    }
}
