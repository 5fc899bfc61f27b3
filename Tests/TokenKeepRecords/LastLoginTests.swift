import Foundation
import Testing
import TokenKeepCore

@testable import TokenKeepRecords

/// The vault's file `login`, by the lines that the second reader reads, too.
@Suite struct LastLoginTests {
    private static let lines: [(expected: String, bytes: [UInt8])] = {
        let file = Vector.folder.appending(path: "login.vectors")
        let text = (try? String(contentsOf: file, encoding: .ascii)) ?? ""
        return text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
            let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
            return (String(fields[0]), LastLoginTests.bytes(ofHexadecimal: fields[1]))
        }
    }()

    private static func bytes(ofHexadecimal text: Substring) -> [UInt8] {
        stride(from: 0, to: text.utf8.count, by: 2).compactMap { offset in
            UInt8(text.dropFirst(offset).prefix(2), radix: 16)
        }
    }

    @Test func theLineOfTheFormatIsReadAndAllOthersCountAsMissing() {
        #expect(LastLoginTests.lines.count >= 30)
        for (expected, bytes) in LastLoginTests.lines {
            let note = LastLogin(bytes)
            let read = note.map { "\($0.time.rawValue) \($0.service) \($0.outcome.rawValue)" } ?? "-"
            #expect(read == expected, "\(String(decoding: bytes, as: UTF8.self))")
        }
    }
}
