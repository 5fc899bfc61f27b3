import Foundation
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepKeys
@testable import TokenKeepRecords

/// What docs/format.md promises, by vaults that another implementation wrote.
@Suite struct VectorTests {
    @Test func thereAreVectors() throws {
        for name in Vector.archives { #expect(try !VectorArchive.read(name).isEmpty, "\(name)") }
        #expect(Vector.all.count > 1000)
        #expect(Set(Vector.all.compactMap { $0.fields["expect"] }).count >= 4)
    }

    @Test(arguments: Vector.all)
    func reads(vector: Vector) throws {
        let directory = TemporaryDirectory()
        vector.unpack(into: directory)
        let (tpm, credentials) = (try vector.tpm(), try vector.credentials())
        defer { withExtendedLifetime((tpm, credentials)) {} }
        let records = try vector.records(in: directory, tpm: tpm, credentials: credentials)
        let module = VaultModule(records)
        let call = CallContext.patient
        let name = try vector.name()
        let sealed = try vector.sealed()
        let (status, secret) = VectorTests.outcome { () throws(TokenKeepError) in
            let call = try vector.unlock(records, call).map { call.granting($0) } ?? call
            if vector.fields["note"] != nil { return try VectorTests.copies(of: name, in: records) }
            guard let sealed else { return try module.load(name, call).secret }
            return try VaultSealer(records).open(SecretBytes(bytes: sealed.bytes), of: sealed.details, call)
        }
        #expect(status.name == vector.fields["expect"], "\(vector.fields["comment"] ?? "")")
        #expect(secret == vector.secret)

        if let also = vector.fields["also"] {
            let words = also.split(separator: " ", omittingEmptySubsequences: false)
            let names = words[0].split(separator: "|", omittingEmptySubsequences: false)
            let other = try ItemName(namespace: name.namespace, service: String(names[0]), account: String(names[1]))
            let (otherStatus, otherSecret) = VectorTests.outcome { () throws(TokenKeepError) in
                try module.load(other, call).secret
            }
            #expect(otherStatus == .ok)
            #expect(otherSecret == Data(base64Encoded: String(words[1])).map { Array($0) })
        }
        if vector.testDescription.contains("carried-over"), status == .corrupt {
            try checkCarried(vector, name, records, directory)
        }
        _ = try? module.list(namespace: "", service: nil, call)
        #expect(vector.isUnchanged(in: directory))
    }

    /// A change of keys opens what an earlier one carried over, and nothing else.
    private func checkCarried(
        _ vector: Vector, _ name: ItemName, _ records: Records, _ directory: TemporaryDirectory
    ) throws {
        let keys = try #require(try records.open()).keys
        let file = Hexadecimal.text(keys.fileName(of: name))
        let bytes = try #require(directory.read("vault/era-1/records/" + file))
        let opened = CarriedFile(bytes, of: nil, fileName: keys.fileName(of: name), keys: keys)
        if let carried = vector.carried {
            #expect(opened.bytes == carried && opened.name == name)
        } else {
            #expect(opened.name != name)
        }
    }

    /// For a vector about an item's sealed copies: nothing but that they can be read.
    private static func copies(of name: ItemName, in records: Records) throws(TokenKeepError) -> SecretBytes? {
        guard let opened = try records.open(), try SealedRecords(opened).copies(of: name) != nil else {
            throw TokenKeepError(.notFound, "there are no sealed copies")
        }
        return nil
    }

    private static func outcome(
        _ load: () throws(TokenKeepError) -> SecretBytes?
    ) -> (Status, [UInt8]?) {
        do throws(TokenKeepError) {
            return (.ok, try load()?.withUnsafeBytes { Array($0) })
        } catch {
            return (error.status, nil)
        }
    }

    /// Fields of a later version outlive a save by this one, in the state and in the metadata.
    @Test(
        arguments: Vector.all.filter { $0.testDescription.contains("unknown-optional") && $0.fields["expect"] == "OK" })
    func keepsFieldsItDoesNotKnow(vector: Vector) throws {
        let directory = TemporaryDirectory()
        vector.unpack(into: directory)
        let records = try vector.records(in: directory)
        let call = CallContext.patient
        let name = try vector.name()
        func kept() throws -> [[UInt8]] {
            var opened = try #require(try records.open())
            let reader = RecordReader(records: records, fileName: opened.keys.fileName(of: name))
            let fields = try #require(
                try reader.read(&opened) { file, state throws(FormatFault) in
                    state.kept + (try file.openMetadata().kept)
                })
            return try fields.get().map { $0.value.withUnsafeBytes { Array($0) } }
        }
        let before = try kept()
        #expect(!before.isEmpty)
        _ = try VaultModule(records).save(SaveRequest(name: name, secret: SecretBytes("new")), call)
        #expect(try kept() == before)
    }
}
