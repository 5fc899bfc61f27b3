import CGcrypt
import Glibc
import TokenKeepCore

/// A secret received over the bus in the specification's structure (oayays), decoded.
struct ArrivedSecret {
    let session: String
    let secret: SecretBytes
    let contentType: String
}

/// A client's session, which determines how secrets for this client are encrypted.
struct SecretSession: Sendable {
    static let algorithm = "dh-ietf1024-sha256-aes128-cbc-pkcs7"

    let owner: String
    /// The key of AES-128-CBC; nil in a session with the algorithm `plain`.
    let key: SecretBytes?

    /// Agrees on a session key with a client. The computation takes some milliseconds.
    ///
    /// - Returns: the session's key and our public key; nil if the client's public key is outside the group.
    static func agree(with peer: [UInt8]) -> (key: SecretBytes, ours: [UInt8])? {
        guard let (secret, ours) = try? KeyAgreement.begin(), let key = try? KeyAgreement.finish(secret, with: peer)
        else { return nil }
        return (key, ours)
    }

    /// Decodes a secret that the client sent.
    func decode(_ value: UnsafeRawBufferPointer, parameters: UnsafeRawBufferPointer) throws(Refusal) -> SecretBytes {
        guard let key else {
            guard parameters.isEmpty else { throw .invalid("a secret of a plain session has parameters") }
            return try SecretSession.keep { () throws(TokenKeepError) in try SecretBytes(copying: value) }
        }
        let block = Int(TOKENKEEP_AES_LENGTH)
        guard parameters.count == block else { throw .invalid("the parameters of a secret are not 16 bytes") }
        guard !value.isEmpty, value.count.isMultiple(of: block) else {
            throw .invalid("the length of an encrypted secret is not a multiple of 16")
        }
        return try SecretSession.keep { () throws(TokenKeepError) in
            try SecretBytes(capacity: value.count) { bytes throws(TokenKeepError) in
                bytes.copyMemory(from: value)
                guard let start = bytes.baseAddress, crypt(1, key, parameters, start, value.count) else {
                    throw TokenKeepError(.internal, "the secret cannot be decrypted")
                }
                return try SecretSession.unpaddedLength(UnsafeRawBufferPointer(start: start, count: value.count))
            }
        }
    }

    /// The length of a decrypted secret without its padding (PKCS #7).
    private static func unpaddedLength(_ bytes: UnsafeRawBufferPointer) throws(TokenKeepError) -> Int {
        let count = Int(bytes.last ?? 0)
        guard (1...16).contains(count), count <= bytes.count, bytes.suffix(count).allSatisfy({ Int($0) == count })
        else { throw TokenKeepError(.invalid, "the secret was encrypted for another session") }
        return bytes.count - count
    }

    /// Writes a secret as the structure (oayays). A secret that cannot be encrypted makes the message fail.
    func write(_ secret: SecretBytes, contentType: String, session path: String, to message: OutgoingMessage) {
        var parameters: [UInt8] = []
        var encoded = secret
        if let key {
            parameters = [UInt8](repeating: 0, count: Int(TOKENKEEP_AES_LENGTH))
            tokenkeep_gcrypt_random(&parameters, parameters.count)
            guard let encrypted = encrypt(secret, key, parameters) else { return message.fail() }
            encoded = encrypted
        }
        message.structure("oayays") {
            message.path(path)
            message.bytes(parameters)
            encoded.withUnsafeBytes { message.bytes($0) }
            message.string(contentType)
        }
    }

    private func encrypt(_ secret: SecretBytes, _ key: SecretBytes, _ parameters: [UInt8]) -> SecretBytes? {
        let padding = 16 - secret.count % 16
        return try? SecretBytes(count: secret.count + padding) { bytes throws(TokenKeepError) in
            secret.withUnsafeBytes { bytes.copyMemory(from: $0) }
            for index in secret.count..<bytes.count { bytes[index] = UInt8(truncatingIfNeeded: padding) }
            let isDone = parameters.withUnsafeBytes { iv in
                bytes.baseAddress.map { crypt(0, key, iv, $0, bytes.count) } ?? false
            }
            guard isDone else { throw TokenKeepError(.internal, "the secret cannot be encrypted") }
        }
    }

    private func crypt(
        _ decrypts: Int32, _ key: SecretBytes, _ iv: UnsafeRawBufferPointer, _ bytes: UnsafeMutableRawPointer,
        _ count: Int
    ) -> Bool {
        key.withUnsafeBytes { key in
            tokenkeep_aes_cbc(
                decrypts, key.bindMemory(to: UInt8.self).baseAddress, iv.bindMemory(to: UInt8.self).baseAddress, bytes,
                count) == 0
        }
    }

    private static func keep(_ make: () throws(TokenKeepError) -> SecretBytes) throws(Refusal) -> SecretBytes {
        do throws(TokenKeepError) { return try make() } catch { throw Refusal(error) }
    }
}

/// The key agreement of the algorithm ``SecretSession/algorithm``.
enum KeyAgreement {
    /// Makes a random private value and its public key.
    static func begin() throws(TokenKeepError) -> (secret: SecretBytes, ours: [UInt8]) {
        var ours = [UInt8](repeating: 0, count: Int(TOKENKEEP_DH_LENGTH))
        let secret = try SecretBytes(count: Int(TOKENKEEP_DH_SECRET)) { bytes throws(TokenKeepError) in
            guard tokenkeep_dh_begin(bytes.bindMemory(to: UInt8.self).baseAddress, &ours) == 0 else {
                throw .shortage("no memory for a key agreement")
            }
        }
        return (secret, ours)
    }

    /// Derives the session's key from our private value and the peer's public key.
    ///
    /// - Throws: ``Status/invalid`` if the public key is outside the group.
    static func finish(_ secret: SecretBytes, with peer: [UInt8]) throws(TokenKeepError) -> SecretBytes {
        try SecretBytes(count: Int(TOKENKEEP_AES_LENGTH)) { bytes throws(TokenKeepError) in
            let result = secret.withUnsafeBytes { secret in
                peer.withUnsafeBytes { peer in
                    tokenkeep_dh_finish(
                        secret.bindMemory(to: UInt8.self).baseAddress, peer.baseAddress, peer.count,
                        bytes.bindMemory(to: UInt8.self).baseAddress)
                }
            }
            guard result == 0 else { throw TokenKeepError(.invalid, "the public key is not of the group") }
        }
    }
}
