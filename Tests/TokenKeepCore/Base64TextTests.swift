import Testing

@testable import TokenKeepCore

@Suite struct Base64TextTests {
    /// The vectors of RFC 4648, section 10.
    @Test(arguments: [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")])
    func textsAreThoseOfTheStandard(plain: String, text: String) throws {
        let bytes = try SecretBytes(plain)
        let encoded = try bytes.withUnsafeBytes { (bytes) throws(TokenKeepError) in try Base64Text.encoded(bytes) }
        #expect(encoded.utf8String == text)
        let decoded = try SecretBytes(capacity: text.utf8.count / 4 * 3) { room in
            encoded.withUnsafeBytes { Base64Text.decode($0, into: room) } ?? -1
        }
        #expect(decoded == bytes)
    }

    @Test func aTextThatIsLongerThanItsRoomIsNotWritten() {
        var room = [UInt8](repeating: 7, count: 8)
        room.withUnsafeMutableBytes { room in
            Array("foo".utf8).withUnsafeBytes {
                Base64Text.encode($0, into: UnsafeMutableRawBufferPointer(rebasing: room.prefix(3)))
            }
        }
        #expect(room == [UInt8](repeating: 7, count: 8))
    }
}
