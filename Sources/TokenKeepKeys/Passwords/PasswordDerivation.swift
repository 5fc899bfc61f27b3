import CSystemShims
import Glibc
import SystemPackage
package import TokenKeepCore

/// Derives keys from a password, a recovery code or a passphrase with Argon2id (RFC 9106).
package enum PasswordDerivation {
    /// The maximum length of a password, in bytes.
    static let maximumLength = 4096

    /// A derivation with these costs and a new random salt, for a new password.
    package static func new(_ costs: PasswordCosts = .standard) -> KeyDerivation {
        .argon2id(
            passes: costs.passes, memoryKiB: costs.memoryKiB, salt: RandomBytes.make(KeyDerivation.saltLength))
    }

    /// Derives a key and check bytes (a commitment). A later derivation gives the same check bytes only if the password
    /// is the same.
    ///
    /// The caller must have checked the costs of the derivation.
    ///
    /// - Throws: ``Status/io`` if there is too little memory; ``Status/timedOut`` or ``Status/cancelled`` if the call
    ///   ended early.
    package static func key(
        of password: SecretBytes, by derivation: KeyDerivation, _ call: CallContext
    ) throws(TokenKeepError) -> DerivedKey {
        guard case .argon2id(let passes, let memoryKiB, let salt) = derivation else {
            throw TokenKeepError(.internal, "a slot of a password has no costs", module: "vault")
        }
        try check(password)
        try check(memoryKiB: memoryKiB)
        let derived = try SecretBytes(count: Int(TOKENKEEP_DERIVED_LENGTH)) { derived throws(TokenKeepError) in
            let error = derive(password, passes: passes, memoryKiB: memoryKiB, salt: salt, call, into: derived)
            try check(error, memoryKiB: memoryKiB, call)
        }
        return try derived.withUnsafeBytes { bytes throws(TokenKeepError) in
            DerivedKey(
                wrapping: try SecretBytes(copying: UnsafeRawBufferPointer(rebasing: bytes[..<KeyRing.keyLength])),
                commitment: Array(bytes[KeyRing.keyLength...]))
        }
    }

    private static func derive(
        _ password: SecretBytes, passes: UInt32, memoryKiB: UInt32, salt: [UInt8], _ call: CallContext,
        into derived: UnsafeMutableRawBufferPointer
    ) -> Int32 {
        password.withUnsafeBytes { password in
            salt.withUnsafeBytes { salt in
                var derivation = tokenkeep_derivation(
                    password: password.baseAddress, password_length: password.count, salt: salt.baseAddress,
                    salt_length: salt.count, passes: passes, memory_kib: memoryKiB)
                return call.deadline.lendingCancellation { isCancelled, data in
                    tokenkeep_derive(
                        &derivation, call.deadline.remainingMilliseconds, isCancelled, data, derived.baseAddress)
                }
            }
        }
    }

    /// Throws the error for an error number that the derivation in C returned. Returns if the number is 0.
    static func check(_ error: Int32, memoryKiB: UInt32, _ call: CallContext) throws(TokenKeepError) {
        switch error {
        case 0: return
        case ETIMEDOUT:
            throw call.deadline.failure(
                "the deadline passed while the password's key was derived", module: "vault", hint: "allow more time")
        case ENOMEM: throw tooLittleMemory(memoryKiB)
        case EINVAL: throw TokenKeepError(.internal, "Argon2 refuses the costs of a slot", module: "vault")
        default:
            throw TokenKeepError.shortage(
                "cannot start a thread that derives the password's key: \(Errno(rawValue: error))", module: "vault")
        }
    }

    /// Throws if a derivation would need more than half of the machine's memory.
    static func check(
        memoryKiB: UInt32, of machineKiB: UInt64 = PasswordDerivation.machineKiB
    ) throws(TokenKeepError) {
        guard UInt64(memoryKiB) <= machineKiB / 2 else { throw tooLittleMemory(memoryKiB) }
    }

    private static var machineKiB: UInt64 {
        UInt64(clamping: sysconf(Int32(_SC_PHYS_PAGES))) * UInt64(clamping: sysconf(Int32(_SC_PAGESIZE))) / 1024
    }

    private static func tooLittleMemory(_ memoryKiB: UInt32) -> TokenKeepError {
        .shortage(
            "the password's key needs \(memoryKiB / 1024) MiB of memory, and the system does not give it",
            module: "vault", hint: "end some programs, or raise the limit of memory (ulimit -v, MemoryMax=)")
    }

    /// Throws if a password is empty or too long.
    package static func check(_ password: SecretBytes) throws(TokenKeepError) {
        guard password.count > 0 else { throw TokenKeepError(.invalid, "the password is empty") }
        guard password.count <= maximumLength else {
            throw TokenKeepError(.invalid, "the password is longer than \(maximumLength) bytes")
        }
    }
}
