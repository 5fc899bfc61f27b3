import Foundation
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepKeys
@testable import TokenKeepRecords

/// The exports of `Tests/Vectors/export.vectors`: right ones, and one fault each.
@Suite struct ExportVectorTests {
    private static let vectors = (try? VectorArchive.read("export.vectors")) ?? []

    @Test func thereAreVectors() { #expect(ExportVectorTests.vectors.count > 50) }

    @Test(arguments: vectors) func anExportIsWhatItsVectorSays(vector: Vector) throws {
        let directory = TemporaryDirectory()
        directory.write(try #require(vector.files.first).bytes, to: "export")
        var items: [TokenItem] = []
        var status = Status.ok
        do throws(TokenKeepError) {
            items = try read("\(directory.path)/export", try passphrase(of: vector))
        } catch {
            status = error.status
        }
        #expect(status.name == expected(vector))
        guard status == .ok else { return }
        #expect(items.count == Int(try #require(vector.fields["items"])))
        if let secret = items.first?.secret {
            let text = secret.withUnsafeBytes { Data($0).base64EncodedString() }
            #expect(text == vector.fields["secret-base64"] ?? "")
            #expect(
                try ExportedItem.parse(of: ExportedItem.plaintext(of: items[0])).details.name == items[0].details.name)
        }
    }

    /// An empty passphrase is refused before the file is read.
    private func expected(_ vector: Vector) -> String? {
        vector.fields["passphrase-base64"] ?? "" == "" ? "INVALID" : vector.fields["expect"]
    }

    private func passphrase(of vector: Vector) throws(TokenKeepError) -> SecretBytes {
        try SecretBytes(bytes: Array(Data(base64Encoded: vector.fields["passphrase-base64"] ?? "") ?? Data()))
    }

    private func read(_ path: String, _ passphrase: SecretBytes) throws(TokenKeepError) -> [TokenItem] {
        let call = CallContext.patient
        var items: [TokenItem] = []
        try ExportReader(path, passphrase: passphrase, call).forEachItem(call) { plaintext throws(TokenKeepError) in
            do throws(FormatFault) {
                items.append(try ExportedItem.parse(of: plaintext))
            } catch {
                throw ExportReader.failure(error, path)
            }
        }
        return items
    }
}

extension ExportedItem {
    fileprivate static func parse(of plaintext: SecretBytes) throws(FormatFault) -> TokenItem {
        try plaintext.lent { bytes throws(FormatFault) in try parse(bytes) }
    }
}
