import Testing
import TokenKeepCore

@Suite struct SecretBytesTests {
    @Test func keepsEveryByteAndEndsWithNUL() throws {
        let bytes = (0...255).map { UInt8($0) }
        let secret = try bytes.withUnsafeBytes { try SecretBytes(copying: $0) }
        #expect(secret.withUnsafeBytes { Array($0) } == bytes)
        #expect((secret.unsafeAddress + 256).load(as: UInt8.self) == 0)
    }

    @Test func holdsNothingAndAMebibyte() throws {
        let empty = try SecretBytes("")
        #expect(empty.count == 0)
        #expect(empty.unsafeAddress.load(as: UInt8.self) == 0)
        let large = try SecretBytes(bytes: [UInt8](repeating: 7, count: 1 << 20))
        #expect(large.withUnsafeBytes { $0.allSatisfy { $0 == 7 } })
    }

    @Test func isAsLongAsWhatWasWrittenAndStaysInPlace() throws {
        var start: UnsafeMutableRawPointer?
        let secret = try SecretBytes(capacity: 100_000) { bytes in
            start = bytes.baseAddress
            bytes.copyBytes(from: "abc".utf8)
            return 3
        }
        #expect(try secret == SecretBytes("abc"))
        #expect(secret.unsafeAddress == start.map { UnsafeRawPointer($0) })
        #expect((secret.unsafeAddress + 3).load(as: UInt8.self) == 0)
        let padded = try SecretBytes(capacity: 8) { bytes in
            bytes.copyBytes(from: "abc\u{5}\u{5}\u{5}\u{5}\u{5}".utf8)
            return 3
        }
        #expect((padded.unsafeAddress + 3).load(as: UInt8.self) == 0)
        let error = TokenKeepError(.io, "no answer")
        #expect(throws: error) { try SecretBytes(capacity: 9) { _ throws(TokenKeepError) in throw error } }
    }

    @Test func comparesContents() throws {
        #expect(try SecretBytes("abc") == SecretBytes("abc"))
        #expect(try SecretBytes("abc") != SecretBytes("abd"))
        #expect(try SecretBytes("abc") != SecretBytes("abcd"))
        #expect(try SecretBytes("") == SecretBytes(""))
    }

    @Test func showsNothing() throws {
        let secret = try SecretBytes("hunter2")
        var dumped = ""
        dump(secret, to: &dumped)
        for text in ["\(secret)", String(reflecting: secret), "\([secret])", dumped] {
            #expect(!text.contains("hunter2"))
            #expect(text.contains("redacted"))
        }
    }

    @Test func refusesToCallBytesText() throws {
        #expect(try SecretBytes(bytes: [0xFF, 0xFE]).utf8String == nil)
        #expect(try SecretBytes("é").utf8String == "é")
    }

    @Test func passesOnWhatTheInitializerThrows() {
        #expect(throws: TokenKeepError(.io, "")) {
            try SecretBytes(count: 4) { _ throws(TokenKeepError) in throw TokenKeepError(.io, "no") }
        }
    }
}
