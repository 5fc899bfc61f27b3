import TokenKeepCore

/// Parses replies of `tokenkeep-tpm2`, which contain a status and a payload (docs/device-helper.md).
enum TPMReply {
    static let signature = Array("TKT1".utf8)
    static let longest = 2048
    private static let headLength = 13

    static let malformed = DeviceFault(.silent, "tokenkeep-tpm2 gave a malformed reply")
    /// The fault if the helper cannot identify the user of a request without a secret, because the process is in
    /// another user namespace.
    static let unknownUser = DeviceFault(.absent, "the TPM's helper cannot tell which user this is")
    static let silent = DeviceFault(.silent, "the TPM did not answer in time")
    /// The fault if the TPM does not have an index. A program on the wire to the TPM can forge this fault.
    static let noIndex = DeviceFault(
        .other, "the TPM no longer has the secret of the level when-passcode-set-this-device-only")
    /// The fault if the TPM refuses the authValue.
    static let refusedKey = DeviceFault(.other, "the TPM refuses the vault's key")
    /// The fault if the TPM's owner hierarchy, which a command needs, has a password.
    static let ownerPassword = DeviceFault(.absent, "the TPM has an owner password, and no persistent storage root key")

    /// Whether the TPM can make no index: it has an owner password or no room, or it refuses the command.
    static func deniesIndex(_ reply: SecretBytes) -> Bool {
        reply.withUnsafeBytes { reply in
            reply.count >= headLength && reply.starts(with: signature) && integer(reply[4..<8]) != 0
                && [4, 11, 15].contains(reply[8])
        }
    }

    /// Calls `body` with the payload of a reply.
    ///
    /// - Parameter unknownUser: the fault to throw if the TPM's helper refuses this user; nil to throw the fault that
    ///   another user sealed the secret.
    /// - Throws: the fault that the reply names, or a fault if the reply is malformed.
    static func payload<Result>(
        of reply: SecretBytes, unknownUser: DeviceFault? = nil,
        _ body: (Slice<UnsafeRawBufferPointer>) throws(DeviceFault) -> Result
    ) throws(DeviceFault) -> Result {
        try reply.withUnsafeBytes { reply throws(DeviceFault) in
            guard (headLength...longest).contains(reply.count), reply.starts(with: signature) else { throw malformed }
            let (status, reason) = (integer(reply[4..<8]), reply[8])
            guard (status == 0) == (reason == 0) else { throw malformed }
            if reason == 7, let unknownUser { throw unknownUser }
            guard reason == 0 else { throw fault(reason, code: integer(reply[9..<13])) }
            return try body(reply[headLength...])
        }
    }

    static func integer(_ bytes: Slice<UnsafeRawBufferPointer>) -> UInt32 {
        bytes.reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Converts the number of a reason to a fault.
    ///
    /// Refusals can be forged on the wire to the TPM. The fault is therefore ``DeviceFault/Kind/other`` only for
    /// reasons which mean that the TPM is not the vault's or has lost the secret.
    private static func fault(_ reason: UInt8, code: UInt32) -> DeviceFault {
        switch reason {
        case 1: DeviceFault(.absent, "the TPM cannot be opened")
        case 2: silent
        case 3: DeviceFault(.silent, "the TPM is busy")
        case 4: ownerPassword
        case 5: Devices.other(.tpm2)
        case 6: refusedKey
        case 7: DeviceFault(.other, "another user sealed the vault's secret in the TPM")
        case 8: DeviceFault(.other, "the TPM does not open what it sealed for the vault")
        case 9: DeviceFault(.silent, "an answer was altered on its way from the TPM")
        case 10: noIndex
        case 11: DeviceFault(.silent, "the TPM has no room for another index")
        case 12: DeviceFault(.silent, "four requests of this user to the TPM are at work")
        case 13: DeviceFault(.silent, "tokenkeep-tpm2 has another version and does not know the request")
        case 14: DeviceFault(.silent, "the TPM is in lockout")
        case 15: DeviceFault(.silent, "the TPM refuses with the code 0x\(String(code, radix: 16))")
        case 16: DeviceFault(.absent, "the TPM is in failure mode, or was not started")
        default: malformed
        }
    }
}
