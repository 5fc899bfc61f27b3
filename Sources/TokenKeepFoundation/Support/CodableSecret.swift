import Foundation
import TokenKeep

/// Converts values to JSON in guarded memory, and back. The intermediate Data is wiped, Foundation's own copies are
/// not.
enum CodableSecret {
    static func encode(_ value: some Encodable, _ encoder: JSONEncoder = JSONEncoder()) throws -> TokenStore.Secret {
        var data = try encoder.encode(value)
        defer { wipe(&data) }
        return try data.withUnsafeBytes { bytes throws(TokenKeepError) in try TokenStore.Secret(copying: bytes) }
    }

    /// Decodes a value from JSON.
    ///
    /// - Throws: ``TokenKeepError`` with `corrupt`. Its message names the item and contains no part of the secret.
    static func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, from secret: TokenStore.Secret, of item: String,
        _ decoder: JSONDecoder = JSONDecoder()
    ) throws -> Value {
        var data = secret.withUnsafeBytes { Data($0) }
        defer { wipe(&data) }
        do {
            return try decoder.decode(type, from: data)
        } catch {
            throw TokenKeepError(
                .corrupt, "\(item) is no JSON of \(type)",
                recoverySuggestion: "save the item again, or clear it")
        }
    }

    static func wipe(_ data: inout Data) {
        guard !data.isEmpty else { return }
        data.resetBytes(in: data.startIndex..<data.endIndex)
    }
}
