import Foundation
import TokenKeep
import TokenKeepCore

extension SecretBytes {
    /// Returns a range of the secret's bytes as Data, without copying them. The Data retains the secret, and must not
    /// be modified.
    func data(_ range: Range<Int>) -> Data {
        Data(
            bytesNoCopy: UnsafeMutableRawPointer(mutating: unsafeAddress + range.lowerBound), count: range.count,
            deallocator: .custom { [self] _, _ in withExtendedLifetime(self) {} })
    }
}

extension TokenStore.Secret {
    /// The secret as Data, without copying it. The Data retains the secret, and must not be modified.
    var data: Data { core.data(0..<core.count) }

    /// The value of the header Authorization with this token. The String is a copy of the token that is not wiped.
    var bearer: String {
        let start = "Bearer ".utf8
        return withUnsafeBytes { token in
            String(unsafeUninitializedCapacity: start.count + token.count) { text in
                let text = UnsafeMutableRawBufferPointer(text)
                text.copyBytes(from: start)
                UnsafeMutableRawBufferPointer(rebasing: text[start.count...]).copyMemory(from: token)
                return start.count + token.count
            }
        }
    }
}
