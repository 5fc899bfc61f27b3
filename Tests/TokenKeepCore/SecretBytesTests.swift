import Testing
import TokenKeepCore

@Suite struct SecretBytesTests {
    @Test(arguments: [nil, SecretArena()])
    func keepsEveryByteAndEndsWithNUL(arena: SecretArena?) throws {
        let bytes = (0...255).map { UInt8($0) }
        let secret = try bytes.withUnsafeBytes { try SecretBytes(copying: $0, in: arena) }
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

    /// What was handed back to the arena is zero before it is handed out again.
    @Test func wipesWhatTheArenaGetsBack() throws {
        let arena = SecretArena()
        let keeper = try SecretBytes(count: 8, in: arena) { _ in }
        var address: UnsafeRawPointer?
        do {
            let secret = try Array("0123456789abcdef".utf8).withUnsafeBytes { try SecretBytes(copying: $0, in: arena) }
            address = secret.unsafeAddress
        }
        let freed = try #require(address)
        #expect(UnsafeRawBufferPointer(start: freed, count: 16).allSatisfy { $0 == 0 })
        try SecretBytes(count: 16, in: arena) { _ in }.withUnsafeBytes { bytes in
            #expect(bytes.baseAddress == freed)
            #expect(bytes.allSatisfy { $0 == 0 })
        }
        #expect(keeper.count == 8)
    }

    /// The arena has 64 KiB: what does not fit lives on its own, and all of it keeps its contents.
    @Test func outgrowsTheArena() throws {
        let arena = SecretArena()
        let secrets = try (0..<2000).map { number in
            try SecretBytes(count: 100, in: arena) {
                $0.copyBytes(from: repeatElement(UInt8(number & 255), count: 100))
            }
        }
        for (number, secret) in secrets.enumerated() {
            #expect(secret.withUnsafeBytes { $0.allSatisfy { $0 == UInt8(number & 255) } })
        }
    }

    @Test func passesOnWhatTheInitializerThrows() {
        #expect(throws: TokenKeepError(.io, "")) {
            try SecretBytes(count: 4) { _ throws(TokenKeepError) in throw TokenKeepError(.io, "no") }
        }
    }
}
