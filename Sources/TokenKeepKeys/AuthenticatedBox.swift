import CSodium
package import TokenKeepCore

/// Encrypts and authenticates bytes with XChaCha20-Poly1305. The result, called a box, begins with its nonce.
package enum AuthenticatedBox {
    /// The number of bytes by which a box is longer than its plaintext: nonce and tag.
    package static let overhead = nonceLength + 16
    private static let nonceLength = 24

    /// Encrypts `plaintext` under a key of 32 bytes, with a random nonce. The box authenticates `data`, but does not
    /// contain it.
    package static func seal(_ plaintext: UnsafeRawBufferPointer, key: SecretBytes, data: [UInt8]) -> [UInt8] {
        var box = [UInt8](repeating: 0, count: plaintext.count + overhead)
        box.withUnsafeMutableBytes { box in
            key.withUnsafeBytes { key in
                guard let nonce = box.bindMemory(to: UInt8.self).baseAddress,
                    let key = key.bindMemory(to: UInt8.self).baseAddress
                else { return }
                randombytes_buf(nonce, nonceLength)
                _ = crypto_aead_xchacha20poly1305_ietf_encrypt(
                    nonce + nonceLength, nil, plaintext.bindMemory(to: UInt8.self).baseAddress,
                    UInt64(plaintext.count), data, UInt64(data.count), nil, nonce, key)
            }
        }
        return box
    }

    /// Decrypts a box (encrypted bytes) into guarded memory.
    ///
    /// - Throws: ``FormatFault/malformed(_:)`` if the key or `data` is wrong or the box was altered.
    package static func open(
        _ box: UnsafeRawBufferPointer, key: SecretBytes, data: [UInt8], _ what: String
    ) throws(FormatFault) -> SecretBytes {
        guard box.count >= overhead, let nonce = box.bindMemory(to: UInt8.self).baseAddress else {
            throw .malformed("its \(what) is too short")
        }
        var isAuthentic = false
        let plaintext: SecretBytes
        do throws(TokenKeepError) {
            plaintext = try SecretBytes(count: box.count - overhead) { output in
                key.withUnsafeBytes { key in
                    guard let key = key.bindMemory(to: UInt8.self).baseAddress else { return }
                    isAuthentic =
                        crypto_aead_xchacha20poly1305_ietf_decrypt(
                            output.bindMemory(to: UInt8.self).baseAddress, nil, nil, nonce + nonceLength,
                            UInt64(box.count - nonceLength), data, UInt64(data.count), nonce, key) == 0
                }
            }
        } catch {
            throw .resources(error)
        }
        guard isAuthentic else { throw .malformed("its \(what) fails authentication") }
        return plaintext
    }
}
