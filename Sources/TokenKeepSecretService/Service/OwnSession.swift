internal import CLibsecret
import TokenKeepCore

/// A session whose key this module agrees on itself.
struct OwnSession: SessionCoding {
    private static let contentType = "text/plain"
    private static let block = Int(TOKENKEEP_SESSION_KEY)

    let path: ObjectPath
    /// The key of AES-128-CBC; nil in a session with the algorithm `plain`.
    private let key: SecretBytes?

    var isEncrypted: Bool { key != nil }

    /// Opens a session. A service that refuses the keys is asked once more, with new keys.
    ///
    /// - Parameter whenReady: runs before the first keys are made, so that the service works meanwhile.
    init(
        over connection: BusConnection, of owner: String, _ context: borrowing MainContext, until deadline: Deadline,
        whenReady: () -> Void
    ) throws(TokenKeepError) {
        whenReady()
        for _ in 0..<2 {
            let keys = try SessionKeys()
            let ours = keys.ours.withUnsafeBytes { Variant.bytes($0) }
            let sent = connection.start([OwnSession.request(SessionKeys.algorithm, ours, of: owner)])
            let reply = try connection.replies(to: sent, in: context, until: deadline)[0]
            if case .answer(let body) = reply, let path = OwnSession.path(body), let theirs = body[0].content,
                let key = try keys.finish(with: theirs)
            {
                (self.path, self.key) = (path, key)
                return
            }
            guard case .error("org.freedesktop.DBus.Error.NotSupported") = reply else { continue }
            let plain = connection.start([OwnSession.request("plain", .string(""), of: owner)])
            if case .answer(let body) = try connection.replies(to: plain, in: context, until: deadline)[0],
                let path = OwnSession.path(body)
            {
                (self.path, key) = (path, nil)
                return
            }
            break
        }
        connection.noteLoss()
        throw TokenKeepError(.unavailable, "the Secret Service opened no session")
    }

    private static func request(_ algorithm: String, _ input: Variant, of owner: String) -> MethodCall {
        MethodCall(
            destination: owner, path: .service, interface: "org.freedesktop.Secret.Service", member: "OpenSession",
            body: .tuple([.string(algorithm), .variant(input)]), answerType: "(vo)")
    }

    private static func path(_ answer: Variant) -> ObjectPath? { answer[1].text.flatMap(ObjectPath.init) }

    /// See ``SessionCoding``.
    func encode(_ secret: SecretBytes) throws(TokenKeepError) -> Variant {
        guard let key else {
            let empty = Variant.bytes(UnsafeRawBufferPointer(start: nil, count: 0))
            return message(empty, secret.withUnsafeBytes { Variant.bytes($0) })
        }
        let vector = try SecretBytes(randomCount: OwnSession.block)
        let padding = OwnSession.block - secret.count % OwnSession.block
        let encrypted = try SecretBytes(count: secret.count + padding) { bytes throws(TokenKeepError) in
            secret.withUnsafeBytes { bytes.copyMemory(from: $0) }
            for index in secret.count..<bytes.count { bytes[index] = UInt8(padding) }
            guard vector.withUnsafeBytes({ OwnSession.crypt(0, key, $0, bytes) }) else {
                throw TokenKeepError(.internal, "libgcrypt could not encode the secret")
            }
        }
        return message(
            vector.withUnsafeBytes { Variant.bytes($0) }, encrypted.withUnsafeBytes { Variant.bytes($0) })
    }

    private func message(_ parameters: Variant, _ value: Variant) -> Variant {
        .tuple([.path(path), parameters, value, .string(OwnSession.contentType)])
    }

    /// See ``SessionCoding``.
    func decode(_ encoded: Variant) throws(TokenKeepError) -> SecretBytes? {
        try encoded[2].withBytes { (value) throws(TokenKeepError) in
            guard let key else { return try SecretBytes(copying: value) }
            var isPadded = false
            let secret = try SecretBytes(capacity: value.count) { bytes throws(TokenKeepError) in
                bytes.copyMemory(from: value)
                let isDone = try encoded[1].withBytes { (vector) throws(TokenKeepError) in
                    vector.count == OwnSession.block && OwnSession.crypt(1, key, vector, bytes)
                }
                // PKCS #7.
                let padding = Int(bytes.last ?? 0)
                isPadded =
                    isDone && (1...OwnSession.block).contains(padding) && padding <= bytes.count
                    && bytes.suffix(padding).allSatisfy { Int($0) == padding }
                return isPadded ? bytes.count - padding : 0
            }
            return isPadded ? secret : nil
        }
    }

    private static func crypt(
        _ decrypts: Int32, _ key: SecretBytes, _ vector: UnsafeRawBufferPointer, _ bytes: UnsafeMutableRawBufferPointer
    ) -> Bool {
        key.withUnsafeBytes { key in
            guard let key = key.bindMemory(to: UInt8.self).baseAddress,
                let vector = vector.bindMemory(to: UInt8.self).baseAddress,
                let start = bytes.bindMemory(to: UInt8.self).baseAddress
            else { return false }
            return tokenkeep_session_keys_crypt(decrypts, key, vector, start, bytes.count) == 0
        }
    }
}
