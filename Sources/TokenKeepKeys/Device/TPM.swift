import Glibc
import TokenKeepCore

/// The machine's TPM 2.0, accessed through the program `tokenkeep-tpm2` (docs/device-helper.md).
///
/// Each call ends by its deadline. A reply is untrusted until it has been checked.
package struct TPM: Sendable {
    /// The length of an authValue and of a secret that the TPM seals, in bytes.
    static let secretLength = 32
    /// The maximum length of a blob, in bytes.
    static let longestBlob = 1024

    /// The paths and the TCTI through which the TPM is accessed. Only tests change them.
    package var places = TPMPlaces()

    /// Uses the standard TPM of this machine.
    package init() {}

    /// The description of a TPM that answered.
    struct Description: Equatable {
        /// The name of the storage primary.
        let name: [UInt8]
        /// The manufacturer's name, as the TPM reports it. A software TPM may report any name.
        let maker: String
    }

    enum Operation: UInt8 {
        case info = 1
        case seal = 2
        case unseal = 3
        case makeIndex = 4
        case readIndex = 5
        case destroyIndex = 6
        case writeIndex = 7
        case listIndices = 8
    }

    /// Describes the TPM.
    ///
    /// - Parameter name: the name of the storage primary (the TPM's root key for sealing) that the TPM must have; nil
    ///   for the primary of new seals.
    func describe(named name: [UInt8]? = nil, until deadline: Deadline) throws(DeviceFault) -> Description {
        let reply = try ask(.info, [.plain(name ?? [])], until: deadline)
        return try TPMReply.payload(of: reply, unknownUser: TPMReply.unknownUser) { payload throws(DeviceFault) in
            let found = payload.dropFirst().prefix(DeviceProvider.tpm2.nameLength)
            let maker = payload.dropFirst(1 + found.count)
            guard found.count == DeviceProvider.tpm2.nameLength, found.starts(with: [0x00, 0x0b]), maker.count <= 32,
                maker.allSatisfy({ (0x20...0x7e).contains($0) })
            else { throw TPMReply.malformed }
            guard name.map({ found.elementsEqual($0) }) ?? true else { throw Devices.other(.tpm2) }
            return Description(name: Array(found), maker: String(decoding: maker, as: UTF8.self))
        }
    }

    /// Seals a secret for this user and an authValue, so that only this TPM opens the secret.
    ///
    /// - Parameter name: the name of the storage primary. A TPM with another primary receives neither authValue nor secret.
    func seal(
        _ secret: SecretBytes, authValue: SecretBytes, under name: [UInt8], until deadline: Deadline
    ) throws(DeviceFault) -> [UInt8] {
        let reply = try ask(.seal, [.plain(name), .secret(authValue), .secret(secret)], until: deadline)
        return try TPMReply.payload(of: reply) { payload throws(DeviceFault) in
            guard (1...TPM.longestBlob).contains(payload.count) else { throw TPMReply.malformed }
            return Array(payload)
        }
    }

    /// Opens a blob that ``seal(_:authValue:under:until:)`` returned.
    func unseal(
        _ blob: [UInt8], authValue: SecretBytes, under name: [UInt8], until deadline: Deadline
    ) throws(DeviceFault) -> SecretBytes {
        let reply = try ask(.unseal, [.plain(name), .secret(authValue), .plain(blob)], until: deadline)
        return try TPMReply.payload(of: reply) { payload throws(DeviceFault) in
            guard payload.count == TPM.secretLength else { throw TPMReply.malformed }
            return try DeviceFault.needing { () throws(TokenKeepError) in
                try SecretBytes(copying: UnsafeRawBufferPointer(rebasing: payload))
            }
        }
    }

    // MARK: Requests

    enum Field {
        case plain([UInt8])
        case secret(SecretBytes)

        var count: Int {
            switch self {
            case .plain(let bytes): bytes.count
            case .secret(let bytes): bytes.count
            }
        }

        func copy(to place: UnsafeMutableRawBufferPointer) {
            switch self {
            case .plain(let bytes): place.copyBytes(from: bytes)
            case .secret(let bytes): bytes.withUnsafeBytes { place.copyMemory(from: $0) }
            }
        }
    }

    func ask(
        _ operation: Operation, _ fields: [Field], until deadline: Deadline
    ) throws(DeviceFault) -> SecretBytes {
        let left = deadline.remainingMilliseconds
        guard left > 0 else { throw TPMReply.silent }
        // The program gets less time than this process waits, so that the program can still reply that the TPM is silent.
        let budget = UInt16(clamping: min(max(1, left / 10 * 9), 10_000))
        let head = TPMReply.signature + [operation.rawValue, UInt8(budget >> 8), UInt8(truncatingIfNeeded: budget)]
        return try places.access().exchange(try TPM.message([.plain(head)] + fields), until: deadline)
    }

    private static func message(_ fields: [Field]) throws(DeviceFault) -> SecretBytes {
        try DeviceFault.needing { () throws(TokenKeepError) in
            try SecretBytes(count: fields.reduce(0) { $0 + $1.count }) { message in
                var offset = 0
                for field in fields {
                    field.copy(to: UnsafeMutableRawBufferPointer(rebasing: message[offset...].prefix(field.count)))
                    offset += field.count
                }
            }
        }
    }
}
