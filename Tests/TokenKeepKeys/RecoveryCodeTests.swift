import Testing
import TokenKeepCore

@testable import TokenKeepKeys

@Suite struct RecoveryCodeTests {
    @Test func everyWrongSymbolAndEveryExchangeIsNoticed() throws {
        let code = try RecoveryCode.normalized(RecoveryCode.make())
        let symbols = Array("0123456789ABCDEFGHJKMNPQRSTVWXY".utf8)
        let good = code.withUnsafeBytes { Array($0) }
        func isRefused(_ typed: [UInt8]) -> Bool {
            (try? RecoveryCode.normalized(SecretBytes(bytes: typed))) == nil
        }
        #expect(!isRefused(good))
        for index in good.indices {
            for symbol in symbols where symbol != good[index] {
                var typed = good
                typed[index] = symbol
                #expect(isRefused(typed))
            }
            for other in good.indices where good[other] != good[index] {
                var typed = good
                typed.swapAt(index, other)
                #expect(isRefused(typed))
            }
        }
        #expect(isRefused(good.dropLast()) && isRefused(good + [symbols[0]]) && isRefused([]))
    }
}
