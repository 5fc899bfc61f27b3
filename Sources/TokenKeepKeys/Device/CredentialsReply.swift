import CJansson
import Glibc
import TokenKeepCore

/// The reply of `io.systemd.Credentials` to a call: a JSON object with the call's result, or the name of an error.
enum CredentialsReply {
    /// The maximum length of a reply in bytes. A reply with the longest credential in base64 is shorter.
    static let longest = 4096

    static let malformed = DeviceFault(.silent, "systemd gave a malformed reply")
    static let silent = DeviceFault(.silent, "systemd did not answer in time")

    /// Decodes a member of a reply from base64.
    ///
    /// - Throws: the fault that the reply names, or a fault if the reply is malformed or the result exceeds `limit` bytes.
    static func bytes(
        _ member: String, of reply: UnsafeRawBufferPointer, atMost limit: Int
    ) throws(DeviceFault) -> SecretBytes {
        guard let base = reply.baseAddress, let object = tokenkeep_json_parse(base, reply.count) else {
            throw malformed
        }
        defer { tokenkeep_json_free(object) }
        let parameters = tokenkeep_json_member(object, "parameters")
        if let error = tokenkeep_json_member(object, "error") { throw try fault(text(error), parameters) }
        guard let parameters, let value = tokenkeep_json_member(parameters, member)
        else { throw malformed }
        return try decoded(text(value), atMost: limit)
    }

    private static func text(_ value: OpaquePointer) throws(DeviceFault) -> UnsafeRawBufferPointer {
        var length = 0
        guard let text = tokenkeep_json_text(value, &length) else { throw malformed }
        return UnsafeRawBufferPointer(start: text, count: length)
    }

    private static func decoded(_ text: UnsafeRawBufferPointer, atMost limit: Int) throws(DeviceFault) -> SecretBytes {
        var count: Int?
        let bytes = try DeviceFault.needing { () throws(TokenKeepError) in
            try SecretBytes(capacity: limit) { bytes in
                count = Base64Text.decode(text, into: bytes)
                return count ?? 0
            }
        }
        guard count != nil else { throw malformed }
        return bytes
    }

    /// Converts an error of systemd, given by its name, to a fault.
    ///
    /// The fault is ``DeviceFault/Kind/other`` only if the error means that the TPM or the host is not the vault's.
    private static func fault(
        _ name: UnsafeRawBufferPointer, _ parameters: OpaquePointer?
    ) throws(DeviceFault) -> DeviceFault {
        let isName = { (byte: UInt8) in
            (0x61...0x7a).contains(byte | 0x20) || (0x30...0x39).contains(byte) || byte == 0x2e
        }
        guard (1...96).contains(name.count), name.allSatisfy(isName) else { throw malformed }
        let error = String(decoding: name, as: UTF8.self)
        switch error {
        case "io.systemd.Credentials.KeyBelongsToOtherTPM": return Devices.other(.systemd)
        case "io.systemd.Credentials.BadFormat", "io.systemd.Credentials.BadScope",
            "io.systemd.Credentials.NameMismatch":
            return DeviceFault(.other, "systemd does not open what it encrypted for the vault")
        case "io.systemd.Credentials.UnexpectedPCRState", "io.systemd.Credentials.CantFindPCRSignature":
            return otherState
        case "io.systemd.Credentials.TPMInDictionaryLockout": return DeviceFault(.silent, "the TPM is in lockout")
        case "io.systemd.Credentials.NoSuchUser": return DeviceFault(.absent, "systemd does not know this user")
        case "org.varlink.service.InterfaceNotFound", "org.varlink.service.MethodNotFound",
            "org.varlink.service.MethodNotImplemented":
            return DeviceFault(.absent, "systemd does not encrypt for users here, as systemd 256 does")
        case "io.systemd.System": return systemFault(parameters)
        default: return DeviceFault(.silent, "systemd refuses with the error \(error)")
        }
    }

    private static let otherState = DeviceFault(
        .silent, "systemd bound the vault's secret to another state of the firmware (PCRs)")

    /// Converts the error `io.systemd.System`, which systemd 257 also reports if the TPM refuses.
    private static func systemFault(_ parameters: OpaquePointer?) -> DeviceFault {
        guard let member = parameters.flatMap({ tokenkeep_json_member($0, "errno") }),
            tokenkeep_json_type(member) == Int32(TOKENKEEP_JSON_INTEGER)
        else { return DeviceFault(.silent, "systemd refuses with an error of the system") }
        switch tokenkeep_json_number(member) {
        case Int64(EPERM): return otherState
        // systemd reports every failure of the TPM by this number, so the number does not prove that the TPM is another
        // one.
        case Int64(ENOTRECOVERABLE):
            return DeviceFault(
                .silent, "the TPM does not open systemd's credential: it failed, was cleared, or is another one")
        case let number: return DeviceFault(.silent, "systemd refuses with the error \(number) of the system")
        }
    }
}
