import TestSupport
import Testing

@testable import TokenKeepKeys

@Suite struct KeyAgentTests {
    @Test func aReplyIsReadWithItsBitsAndItsWord() throws {
        let state = try #require(KeyAgent.parse(Array("TKA1".utf8) + [0, 0, 1, 14, 0b1010] + Array("no-session".utf8)))
        #expect(state.status == 270)
        #expect(!state.holds && state.isPublished && !state.isLocked && state.isProved)
        #expect(state.source == "no-session")
    }

    @Test func aReplyThatIsShortOrHasAnotherSignatureOrWordIsRefused() {
        let head = Array("TKA1".utf8) + [0, 0, 0, 0, 0]
        #expect(KeyAgent.parse(head)?.source == "")
        for length in 0..<head.count { #expect(KeyAgent.parse(head.prefix(length)) == nil) }
        #expect(KeyAgent.parse(Array("TKA2".utf8) + head.dropFirst(4)) == nil)
        for byte in [UInt8(0), 10, 27, 65, 128, 255] { #expect(KeyAgent.parse(head + [byte]) == nil) }
    }
}
