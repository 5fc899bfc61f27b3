import CSystemShims
import Glibc
import TokenKeepCore

/// systemd's service `io.systemd.Credentials`, which encrypts a user's secrets with the keys of the host and of its TPM.
///
/// Each call ends by its deadline. A reply is untrusted until it has been checked.
package struct SystemdCredentials: Sendable {
    /// The length of a secret that systemd encrypts, in bytes.
    static let secretLength = 32
    /// The maximum length of a credential, in bytes. A credential with the public key of a PCR policy has up to 1.6 KB.
    static let longestBlob = 2048

    /// The path of the service's socket; nil for the path in `TOKENKEEP_SYSTEMD_SOCKET` or, without it, the standard path.
    package var socket: String?

    private static let standardSocket = "/run/systemd/io.systemd.Credentials"
    /// The user id of the process that must listen on the socket.
    private static let root: uid_t = 0

    /// Uses the standard service of this machine.
    package init() {}

    /// The first 16 bytes (the type) of a user's credentials that need the host's key and the machine's TPM 2.0.
    private static let boundToTPM: [[UInt8]] = [
        [0xef, 0x4a, 0xc1, 0x36, 0x79, 0xa9, 0x48, 0x0e, 0xa7, 0xdb, 0x68, 0x89, 0x7f, 0x9f, 0x16, 0x5d],
        // The type of a credential with a PCR policy that a public key signs.
        [0xad, 0xbc, 0x4c, 0xa3, 0xef, 0xb6, 0x42, 0x01, 0xba, 0x88, 0x1b, 0x6f, 0x2e, 0x40, 0x95, 0xea],
    ]

    /// The first 16 bytes (the type) of a user's credentials that need the host's key alone, or no key.
    private static let withoutTPM: [[UInt8]] = [
        [0x55, 0xb9, 0xed, 0x1d, 0x38, 0x59, 0x4d, 0x43, 0xa8, 0x31, 0x9d, 0x2e, 0xbb, 0x33, 0x2a, 0xc6],
        [0x05, 0x84, 0x69, 0xda, 0xf6, 0xf5, 0x43, 0x24, 0x80, 0x05, 0x49, 0xda, 0x0f, 0x8e, 0xa2, 0xfb],
    ]

    /// Throws a fault if the service does not encrypt with a TPM 2.0. Encrypts a random secret and discards the result.
    func check(until deadline: Deadline) throws(DeviceFault) {
        let secret = try DeviceFault.needing { () throws(TokenKeepError) in
            try SecretBytes(randomCount: SystemdCredentials.secretLength)
        }
        _ = try encrypt(secret, until: deadline)
    }

    /// Encrypts a secret for this user.
    func encrypt(_ secret: SecretBytes, until deadline: Deadline) throws(DeviceFault) -> [UInt8] {
        let call = try secret.withUnsafeBytes { secret throws(DeviceFault) in
            try SystemdCredentials.call("Encrypt", "data", secret)
        }
        let blob = try value("blob", of: call, atMost: SystemdCredentials.longestBlob, until: deadline)
            .withUnsafeBytes { Array($0) }
        guard SystemdCredentials.needsTPM(blob) else {
            let isWithout = SystemdCredentials.withoutTPM.contains { blob.starts(with: $0) }
            throw DeviceFault(
                .absent,
                isWithout
                    ? "systemd encrypts without a TPM 2.0 on this machine"
                    : "systemd makes credentials of a type that this version does not know")
        }
        return blob
    }

    /// Decrypts a credential that ``encrypt(_:until:)`` returned.
    func decrypt(_ blob: [UInt8], until deadline: Deadline) throws(DeviceFault) -> SecretBytes {
        guard SystemdCredentials.needsTPM(blob) else {
            throw DeviceFault(.other, "the vault's credential has no type that needs host and TPM 2.0")
        }
        let call = try blob.lent { blob throws(DeviceFault) in
            try SystemdCredentials.call("Decrypt", "blob", blob)
        }
        let secret = try value("data", of: call, atMost: SystemdCredentials.secretLength, until: deadline)
        guard secret.count == SystemdCredentials.secretLength else { throw CredentialsReply.malformed }
        return secret
    }

    private static func needsTPM(_ blob: [UInt8]) -> Bool { boundToTPM.contains { blob.starts(with: $0) } }

    /// The PCRs to whose values a credential is bound. Their bits follow the nonce, whose length is in the head.
    static func registers(of blob: [UInt8]) -> [Int] {
        guard needsTPM(blob), blob.count > 32, blob[25..<28].allSatisfy({ $0 == 0 }) else { return [] }
        let place = (32 + Int(blob[24]) + 7) / 8 * 8
        guard blob.count >= place + 8 else { return [] }
        return (0..<64).filter { blob[place + $0 / 8] >> ($0 % 8) & 1 == 1 }
    }

    // MARK: Calls

    private static func call(
        _ method: String, _ member: String, _ bytes: UnsafeRawBufferPointer
    ) throws(DeviceFault) -> SecretBytes {
        // systemd binds the credential to this name, so that a credential of another program is not accepted as a
        // vault's.
        let head =
            #"{"method":"io.systemd.Credentials.\#(method)","parameters":{"name":"tokenkeep","scope":"user",""#
            + member + #"":""#
        let tail = #""}}"# + "\0"
        let length = Base64Text.length(of: bytes.count)
        return try DeviceFault.needing { () throws(TokenKeepError) in
            // The tail overwrites the NUL that the base64 encoder appends.
            try SecretBytes(count: head.utf8.count + length + tail.utf8.count) { call in
                call.copyBytes(from: head.utf8)
                let text = UnsafeMutableRawBufferPointer(rebasing: call[head.utf8.count...])
                Base64Text.encode(bytes, into: text)
                UnsafeMutableRawBufferPointer(rebasing: text[length...]).copyBytes(from: tail.utf8)
            }
        }
    }

    private func value(
        _ member: String, of call: SecretBytes, atMost limit: Int, until deadline: Deadline
    ) throws(DeviceFault) -> SecretBytes {
        let reply = try exchange(call, until: deadline)
        return try reply.withUnsafeBytes { reply throws(DeviceFault) in
            try CredentialsReply.bytes(member, of: reply, atMost: limit)
        }
    }

    private func exchange(_ call: SecretBytes, until deadline: Deadline) throws(DeviceFault) -> SecretBytes {
        let path = socket ?? EnvironmentPath.value("TOKENKEEP_SYSTEMD_SOCKET") ?? SystemdCredentials.standardSocket
        let left = deadline.remainingMilliseconds
        guard left > 0 else { throw CredentialsReply.silent }
        var error: Int32 = 0
        let reply = try DeviceFault.needing { () throws(TokenKeepError) in
            try SecretBytes(capacity: CredentialsReply.longest) { reply in
                var count = 0
                error = call.withUnsafeBytes { call in
                    tokenkeep_socket_ask(
                        path, SystemdCredentials.root, TOKENKEEP_TEXT_TO_NUL, call.baseAddress, call.count, left,
                        reply.bindMemory(to: UInt8.self).baseAddress, reply.count, &count)
                }
                return error == 0 ? count : 0
            }
        }
        switch error {
        case 0: return reply
        case ETIMEDOUT: throw CredentialsReply.silent
        case EPROTO: throw DeviceFault(.silent, "systemd ended the connection before its reply ended")
        case EMSGSIZE: throw CredentialsReply.malformed
        case ENOENT: throw DeviceFault(.absent, "this machine has no io.systemd.Credentials, as systemd 256 has")
        case EPERM: throw DeviceFault(.absent, "the program that listens on \(path) is not root's")
        default: throw DeviceFault(.absent, "cannot connect to \(path): \(String(cString: strerror(error)))")
        }
    }
}
