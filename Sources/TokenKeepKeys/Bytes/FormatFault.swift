package import TokenKeepCore

/// The reason why bytes cannot be parsed or decrypted.
package enum FormatFault: Error, Equatable {
    /// The bytes break a rule of the format. The text names the rule and contains none of the bytes.
    case malformed(String)
    /// The bytes have this version of the format, which is later than the supported version.
    case newerVersion(UInt16)
    /// The vault's header (the file with its encrypted keys) was altered by somebody without the password.
    case refusedHeader
    /// The bytes name a key that the vault's header does not contain.
    case unknownKey
    /// The vault's header contains the key that the bytes name, but the key is locked.
    case lockedKey(KeyPurpose)
    /// In a vault without a password, the device (for example a TPM) failed to open the key.
    case deviceFault(DeviceFault)
    /// The item requires an enforced level, but no agent that notices screen locks holds the key.
    case unenforcedKey
    /// The item requires the password at each use, but this call has not prompted the user.
    case presenceNeeded
    /// Guarded memory is exhausted, or libsodium could not be started.
    case resources(TokenKeepError)

    /// Makes the error that callers of the store get for this fault in the file `file`.
    package func error(in file: String) -> TokenKeepError {
        switch self {
        case .malformed(let reason):
            TokenKeepError(
                .corrupt, "\(file) is damaged: \(reason)", module: "vault",
                hint:
                    "nothing was deleted; restore the file from a backup, or rename it to end in .corrupt-1 to do without it"
            )
        case .newerVersion(let version):
            TokenKeepError(
                .unsupported, "\(file) has version \(version) of the format, which a later TokenKeep wrote",
                module: "vault", hint: "upgrade TokenKeep")
        case .refusedHeader: HeaderTrust.refusal
        case .unknownKey:
            TokenKeepError(
                .corrupt, "\(file) names a key that the vault's header does not have", module: "vault",
                hint: "nothing was deleted; restore the vault's header from a backup")
        case .lockedKey(.level(.whenUnlocked)):
            TokenKeepError(
                .locked, "items of the level \(AccessLevel.whenUnlocked.word) are locked", module: "vault",
                hint: "unlock the vault: tokenkeep unlock")
        case .lockedKey(.level(let level)) where level.needsDevice:
            TokenKeepError(
                .locked, "items of the level \(level.word) are locked", module: "vault",
                hint: "unlock the vault: tokenkeep unlock; if they stay locked, see tokenkeep device show")
        case .deviceFault(let fault):
            TokenKeepError(.locked, fault.reason, module: "vault", hint: fault.remedy ?? "see tokenkeep device show")
        case .unenforcedKey:
            TokenKeepError(
                .locked, "the level must be enforced, and no agent here is known to see the lock of the screen",
                module: "vault", hint: "see tokenkeep agent status, and then unlock the vault: tokenkeep unlock")
        case .lockedKey:
            TokenKeepError(.locked, "the vault is locked", module: "vault", hint: "unlock it: tokenkeep unlock")
        case .presenceNeeded:
            TokenKeepError(
                .locked, "the vault's password is asked for at each use", module: "vault",
                hint: "allow the question: --interactive on the command line, in C TOKENKEEP_INTERACTIVE and a prompt")
        case .resources(let error): error
        }
    }
}
